import { BulkheadError } from '@bulkhead/contract'

/** Bytes of the old content that became others. */
export interface Change {
  readonly at: number
  readonly before: Buffer
  readonly after: Buffer
}

export interface Replaced {
  readonly bytes: Buffer
  /** In their order, none touching another. */
  readonly changes: readonly Change[]
}

export interface Replacement {
  readonly before: string
  readonly after: string
  readonly all: boolean
}

const LF = 10
const CR = 13

/** Throws InputInvalid where the text does not occur, or occurs more than once and not all are meant. */
export function replaceText(content: Buffer, { before, after, all }: Replacement, path: string): Replaced {
  if (before === '') throw refused('The old text is empty. To make a file, write it.')
  if (before === after) throw refused('The old and the new text are the same.')
  const [old, fresh, places] = find(content, before, after)
  if (places.length === 0) throw refused(`The old text does not occur in "${path}". Read the file and copy it exactly.`)
  if (places.length > 1 && !all) {
    const times = places.length === MANY ? `${MANY} times or more` : `${places.length} times`
    throw refused(`The old text occurs ${times} in "${path}". Make it longer until it is unique, or replace all.`)
  }
  const changes = apart(places, old.length).map((at) => ({ at, before: old, after: fresh }))
  const pieces: Buffer[] = []
  let from = 0
  for (const { at } of changes) {
    pieces.push(content.subarray(from, at), fresh)
    from = at + old.length
  }
  return { bytes: Buffer.concat([...pieces, content.subarray(from)]), changes }
}

/**
 * Where lines of the file end in CRLF, so do those of both texts: a model writes LF. Where some do and some do not, a text is
 * taken as it is first, and then with CRLF.
 */
function find(content: Buffer, before: string, after: string): readonly [old: Buffer, fresh: Buffer, places: readonly number[]] {
  const spansLines = /\n/.test(before + after)
  if (!spansLines || !endsInCrlf(content)) {
    const exact = attempt(content, before, after)
    if (exact[2].length > 0 || !spansLines || !content.includes('\r\n')) return exact
  }
  return attempt(content, withCrlf(before), withCrlf(after))
}

function attempt(content: Buffer, before: string, after: string): readonly [Buffer, Buffer, readonly number[]] {
  const old = Buffer.from(before)
  return [old, Buffer.from(after), occurrences(content, old)]
}

/** Every place, those that overlap too: of two such it cannot be known which is meant. */
function occurrences(content: Buffer, old: Buffer): readonly number[] {
  const places: number[] = []
  for (let at = content.indexOf(old); at >= 0 && places.length < MANY; at = content.indexOf(old, at + 1)) places.push(at)
  return places
}

const MANY = 1_000_000

/** The first of those that overlap, as reading from the left would find them. */
function apart(places: readonly number[], length: number): readonly number[] {
  let free = 0
  return places.filter((at) => {
    if (at < free) return false
    free = at + length
    return true
  })
}

const withCrlf = (text: string): string => text.replaceAll(/\r?\n/g, '\r\n')

/** Whether there is a line, and every line ends so. */
function endsInCrlf(content: Buffer): boolean {
  let at = content.indexOf(LF)
  if (at < 0) return false
  for (; at >= 0; at = content.indexOf(LF, at + 1)) if (content[at - 1] !== CR) return false
  return true
}

const refused = (message: string): BulkheadError => new BulkheadError('InputInvalid', message)
