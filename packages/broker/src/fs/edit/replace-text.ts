import { BulkheadError } from '@bulkhead/contract'
import { MAX_BYTES } from '../read-file.ts'
import { tooLong } from '../write-file.ts'
import { placesOf } from './places-of.ts'

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
  const [old, fresh, places] = find(content, { before, after, all })
  if (places.length === 0) throw refused(`The old text does not occur in "${path}". Read the file and copy it exactly.`)
  if (places.length > 1 && !all) {
    const times = places.length === MANY ? `${MANY} times or more` : `${places.length} times`
    throw refused(`The old text occurs ${times} in "${path}". Make it longer until it is unique, or replace all.`)
  }
  if (places.length === MANY) {
    throw refused(`The old text occurs ${MANY} times or more in "${path}", too often to be replaced. Write the file as a whole.`)
  }
  const changes = places.map((at) => ({ at, before: old, after: fresh }))
  const bytes = content.length + changes.length * (fresh.length - old.length)
  // Before there is that much of it. A file of wider characters may be somewhat longer here than on the disk.
  if (bytes > 2 * MAX_BYTES) throw tooLong(path, bytes)
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
function find(
  content: Buffer, { before, after, all }: Replacement,
): readonly [old: Buffer, fresh: Buffer, places: readonly number[]] {
  const spansLines = /\n/.test(before + after)
  if (!spansLines || !endsInCrlf(content)) {
    const exact = attempt(content, { before, after, all })
    if (exact[2].length > 0 || !spansLines || !content.includes('\r\n')) return exact
  }
  return attempt(content, { before: withCrlf(before), after: withCrlf(after), all })
}

function attempt(content: Buffer, { before, after, all }: Replacement): readonly [Buffer, Buffer, readonly number[]] {
  const old = Buffer.from(before)
  // Of two that overlap it cannot be known which one is meant, if only one is.
  return [old, Buffer.from(after), placesOf(old, content, { most: MANY, overlapping: !all })]
}

const MANY = 100_000

const withCrlf = (text: string): string => text.replaceAll(/\r?\n/g, '\r\n')

/** Whether there is a line, and every line ends so. */
function endsInCrlf(content: Buffer): boolean {
  const first = content.indexOf(LF)
  if (first < 0) return false
  for (let at = first; at < content.length; at++) if (content[at] === LF && content[at - 1] !== CR) return false
  return true
}

const refused = (message: string): BulkheadError => new BulkheadError('InputInvalid', message)
