/** One thing ripgrep says with `--json`, as far as it matters here. */
export type SearchRecord =
  | { readonly type: 'begin'; readonly path: string }
  | { readonly type: 'match' | 'context'; readonly line: number; readonly text: string; readonly cut: boolean }

/** Shown of one match, in bytes. */
const TEXT_BYTES = 2_000
/** Read as JSON; of what is longer only the start of its text is looked at. */
const PARSED_BYTES = 32 * 1024
/** A record that is longer is not kept to its end. */
const RECORD_BYTES = 16 * 1024 * 1024

/** What kind of record starts here, told without reading it. */
export const recordType = (record: Buffer): string | undefined =>
  /^\{"type":"([a-z]+)"/.exec(record.toString('latin1', 0, 24))?.[1]

/** undefined for what says nothing here. */
export function readRecord(record: Buffer): SearchRecord | undefined {
  return record.length > PARSED_BYTES ? readLongRecord(record) : readShortRecord(record)
}

interface Written {
  readonly text?: string
  /** Base64, where it is not UTF-8. */
  readonly bytes?: string
}

function readShortRecord(record: Buffer): SearchRecord | undefined {
  const { type, data } = JSON.parse(record.toString('utf8')) as {
    readonly type: string
    readonly data: { readonly path: Written; readonly lines: Written; readonly line_number: number | null }
  }
  if (type === 'begin') return { type, path: bytesOf(data.path).toString('utf8') }
  if (type !== 'match' && type !== 'context') return undefined
  return { type, line: data.line_number ?? 0, ...shown(bytesOf(data.lines)) }
}

const bytesOf = ({ text, bytes = '' }: Written): Buffer => text === undefined ? Buffer.from(bytes, 'base64') : Buffer.from(text)

/** Quotes inside texts are escaped, so what is looked for is never found in one. */
function readLongRecord(record: Buffer): SearchRecord | undefined {
  const type = recordType(record)
  if (type !== 'match' && type !== 'context') return undefined
  const start = /"lines":\{"(text|bytes)":"/.exec(record.toString('latin1', 0, PARSED_BYTES))
  const after = record.indexOf('"},"line_number":')
  if (start === null || after < 0) return undefined
  const line = Number.parseInt(record.toString('latin1', after + 17, after + 37), 10) || 0
  const from = start.index + start[0].length
  const head = record.subarray(from, Math.min(after, from + 8 * TEXT_BYTES))
  const isHead = after > from + head.length
  if (start[1] === 'bytes') return { type, line, ...shown(Buffer.from(head.toString('latin1'), 'base64'), isHead) }
  // It is cut between two escapes, so that what is left is one.
  const whole = /^(?:[^\\]|\\u[\da-fA-F]{4}|\\[^u])*/.exec(head.toString('utf8'))?.[0] ?? ''
  return { type, line, ...shown(Buffer.from(JSON.parse(`"${whole}"`) as string), isHead) }
}

function shown(bytes: Buffer, isHead = false): { readonly text: string; readonly cut: boolean } {
  const whole = withoutEnd(bytes)
  if (!isHead && whole.length <= TEXT_BYTES) return { text: whole.toString('utf8'), cut: false }
  // Half of a character at the end is left out.
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(whole.subarray(0, TEXT_BYTES), { stream: true })
  return { text, cut: true }
}

function withoutEnd(bytes: Buffer): Buffer {
  const line = bytes.at(-1) === 10 ? bytes.subarray(0, -1) : bytes
  return line.at(-1) === 13 ? line.subarray(0, -1) : line
}

/** Splits output into what lies between `separator`s, holding no more than one piece. */
export class Splitter {
  readonly #separator: number
  readonly #take: (piece: Buffer) => boolean
  #open: Buffer[] = []
  #openBytes = 0

  constructor(separator: '\n' | '\0', take: (piece: Buffer) => boolean) {
    this.#separator = separator.charCodeAt(0)
    this.#take = take
  }

  /** Returns false as soon as `take` does. */
  add(bytes: Buffer): boolean {
    let from = 0
    for (let end = bytes.indexOf(this.#separator); end >= 0; end = bytes.indexOf(this.#separator, from)) {
      const piece = this.#close(bytes.subarray(from, end))
      from = end + 1
      if (!this.#take(piece)) return false
    }
    if (from < bytes.length && this.#openBytes <= RECORD_BYTES) {
      this.#open.push(bytes.subarray(from))
      this.#openBytes += bytes.length - from
    }
    return true
  }

  #close(end: Buffer): Buffer {
    if (this.#open.length === 0) return end
    const piece = Buffer.concat([...this.#open, end])
    this.#open = []
    this.#openBytes = 0
    return piece
  }
}
