/** A line of `--json` output of ripgrep. */
export type SearchRecord =
  | { readonly type: 'begin'; readonly path: string }
  | { readonly type: 'match' | 'context'; readonly line: number; readonly text: string; readonly cut: boolean }

/** Longer lines are cut for a result. */
const TEXT_BYTES = 2_000
/** A longer record is not parsed as JSON; only the beginning of its text is read. */
const PARSED_BYTES = 32 * 1024
/** A longer record is not buffered to its end. */
const RECORD_BYTES = 16 * 1024 * 1024

/** The type of a record, without parsing it. */
export const recordType = (record: Buffer): string | undefined =>
  /^\{"type":"([a-z]+)"/.exec(record.toString('latin1', 0, 24))?.[1]

/** undefined for other types. `most`: bytes of its line. */
export function readRecord(record: Buffer, most = TEXT_BYTES): SearchRecord | undefined {
  return record.length > PARSED_BYTES ? readLongRecord(record, most) : readShortRecord(record, most)
}

interface Written {
  readonly text?: string
  /** Base64, if it is not UTF-8. */
  readonly bytes?: string
}

function readShortRecord(record: Buffer, most: number): SearchRecord | undefined {
  const { type, data } = JSON.parse(record.toString('utf8')) as {
    readonly type: string
    readonly data: { readonly path: Written; readonly lines: Written; readonly line_number: number | null }
  }
  if (type === 'begin') return { type, path: bytesOf(data.path).toString('utf8') }
  if (type !== 'match' && type !== 'context') return undefined
  return { type, line: data.line_number ?? 0, ...shown(bytesOf(data.lines), most) }
}

const bytesOf = ({ text, bytes = '' }: Written): Buffer =>
  text === undefined ? Buffer.from(bytes, 'base64') : Buffer.from(text)

/** Quotes inside strings are escaped, so the searched keys cannot occur in them. */
function readLongRecord(record: Buffer, most: number): SearchRecord | undefined {
  const type = recordType(record)
  if (type !== 'match' && type !== 'context') return undefined
  const start = /"lines":\{"(text|bytes)":"/.exec(record.toString('latin1', 0, PARSED_BYTES))
  const after = record.indexOf('"},"line_number":')
  if (start === null || after < 0) return undefined
  const line = Number.parseInt(record.toString('latin1', after + 17, after + 37), 10) || 0
  const from = start.index + start[0].length
  // Beyond RECORD_BYTES a part of the line is missing.
  const isHead = after > Math.min(RECORD_BYTES, from + 8 * most)
  const head = record.subarray(from, isHead ? from + 8 * Math.min(most, TEXT_BYTES) : after)
  if (start[1] === 'bytes') return { type, line, ...shown(Buffer.from(head.toString('latin1'), 'base64'), most, isHead) }
  // Do not cut inside an escape sequence.
  const text = head.toString('utf8')
  const whole = isHead ? /^(?:[^\\]|\\u[\da-fA-F]{4}|\\[^u])*/.exec(text)?.[0] ?? '' : text
  return { type, line, ...shown(Buffer.from(JSON.parse(`"${whole}"`) as string), most, isHead) }
}

function shown(bytes: Buffer, most: number, isHead = false): { readonly text: string; readonly cut: boolean } {
  const whole = withoutEnd(bytes)
  if (!isHead && whole.length <= most) return { text: whole.toString('utf8'), cut: false }
  // Drops an incomplete character at the end.
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(whole.subarray(0, most), { stream: true })
  return { text, cut: true }
}

function withoutEnd(bytes: Buffer): Buffer {
  const line = bytes.at(-1) === 10 ? bytes.subarray(0, -1) : bytes
  return line.at(-1) === 13 ? line.subarray(0, -1) : line
}

/** Splits a stream at a separator. Buffers at most one piece. */
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
