export interface LineRange {
  /** 1-based. */
  readonly from: number
  /** Maximum number of lines. */
  readonly limit: number
  /** Maximum number of bytes of text. */
  readonly maxBytes: number
  /** Stop counting the lines of the file after this many bytes. */
  readonly countBytes?: number
}
export interface Lines {
  readonly text: string
  readonly from: number
  /** The last line in `text`, or `from - 1` if there is none. */
  readonly to: number
  /** Absent if the file is too long to count its lines. */
  readonly total?: number
  /** The byte range in the file, if `text` is only a part of a line. */
  readonly cut?: { readonly from: number; readonly to: number }
}

const NEWLINE = 0x0a

/**
 * Collects a range of lines from chunks and counts all lines. Keeps at most `maxBytes` in memory, and keeps line
 * endings as they are. Text that is too long is cut after a line. A single line that is too long is cut between
 * characters.
 */
export async function collectLines(chunks: AsyncIterable<Uint8Array>, range: LineRange): Promise<Lines> {
  const last = range.from + range.limit - 1
  const { countBytes = Infinity } = range
  const kept: Uint8Array[] = []
  let bytes = 0
  let before = 0
  let line = 1
  let open = false
  let cut = false
  let seen = 0
  let counted = true
  for await (const chunk of chunks) {
    if (seen >= countBytes && (line > last || cut)) {
      counted = false
      break
    }
    seen += chunk.length
    let start = 0
    while (start < chunk.length) {
      const newline = chunk.indexOf(NEWLINE, start)
      const end = newline < 0 ? chunk.length : newline + 1
      if (line >= range.from && line <= last && !cut) {
        const part = chunk.subarray(start, Math.min(end, start + range.maxBytes - bytes))
        if (part.length > 0) {
          kept.push(part)
          bytes += part.length
        }
        cut = part.length < end - start
      }
      if (line < range.from) before += end - start
      open = newline < 0
      if (newline >= 0) line++
      start = end
    }
  }
  const shown = cut ? withoutIncompleteEnd(joined(kept, bytes)) : joined(kept, bytes)
  const whole = new TextDecoder('utf-8', { ignoreBOM: true }).decode(shown)
  const text = cut ? wholeLines(whole) : whole
  const found = {
    text, from: range.from, to: range.from - 1 + countLines(text), ...(counted && { total: open ? line : line - 1 }),
  }
  return cut && !text.includes('\n') ? { ...found, cut: { from: before, to: before + shown.length } } : found
}

/** Like `collectLines`, for a complete string. `bytesOf` returns the length of a string in the encoding of the file. */
export function linesOfText(
  text: string, { from, limit, maxBytes }: LineRange, bytesOf: (part: string) => number = Buffer.byteLength,
): Lines {
  const total = countLines(text)
  const start = endOfLines(text, 0, from - 1)
  const wanted = text.slice(start, from + limit > total ? text.length : endOfLines(text, start, limit))
  const shown = headOf(wanted, maxBytes)
  const lines = shown.length === text.length ? total : countLines(shown)
  const found = { text: shown, from, to: from - 1 + lines, total }
  const isCut = shown.length < wanted.length && !shown.includes('\n')
  if (!isCut) return found
  const before = bytesOf(text.slice(0, start))
  return { ...found, cut: { from: before, to: before + bytesOf(shown) } }
}

/** Counts a last line without a newline too. Twice as fast as a loop with `indexOf`. */
const countLines = (text: string): number =>
  (text.match(/\n/g)?.length ?? 0) + (text === '' || text.endsWith('\n') ? 0 : 1)

/** The position after the given number of lines. */
function endOfLines(text: string, start: number, lines: number): number {
  let end = start
  for (let line = 0; line < lines && end < text.length; line++) {
    const newline = text.indexOf('\n', end)
    end = newline < 0 ? text.length : newline + 1
  }
  return end
}

function headOf(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return text
  return wholeLines(text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(maxBytes)).read))
}

const wholeLines = (cut: string): string => cut.slice(0, cut.lastIndexOf('\n') + 1) || cut

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** The kind of a file, detected from its first bytes. */
type FileKind =
  | { readonly kind: 'text' }
  | { readonly kind: 'utf16'; readonly encoding: Utf16 }
  | { readonly kind: 'binary' }
  | { readonly kind: 'image'; readonly mimeType: string }

const SIGNATURES: readonly (readonly [mimeType: string, offset: number, bytes: readonly number[]])[] = [
  ['image/png', 0, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ['image/jpeg', 0, [0xff, 0xd8, 0xff]],
  ['image/gif', 0, [0x47, 0x49, 0x46, 0x38]],
  ['image/webp', 8, [0x57, 0x45, 0x42, 0x50]],
]

/** How many bytes `fileKind` needs. */
export const SNIFF_BYTES = 8_192

export function fileKind(head: Uint8Array): FileKind {
  const image = SIGNATURES.find(([, offset, bytes]) => bytes.every((byte, index) => head[offset + index] === byte))
  if (image) return { kind: 'image', mimeType: image[0] }
  const encoding = utf16Of(head)
  if (encoding !== undefined) return { kind: 'utf16', encoding }
  return { kind: head.includes(0) ? 'binary' : 'text' }
}

/** UTF-16 with a byte order mark. */
export type Utf16 = 'utf-16le' | 'utf-16be'

/** Detects a byte order mark in the first four bytes. The mark of UTF-32LE starts with that of UTF-16LE. */
export function utf16Of([first, second, third, fourth]: Uint8Array): Utf16 | undefined {
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  return first === 0xff && second === 0xfe && !(third === 0 && fourth === 0) ? 'utf-16le' : undefined
}

/** Keeps the byte order mark, as for UTF-8. Each code unit is two bytes of the file. */
export const decodeUtf16 = (bytes: Uint8Array, encoding: Utf16): string =>
  new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes)

interface Utf16Part {
  readonly text: string
  readonly from: number
  readonly to: number
}

/** Decodes the complete characters in a part of a file that begins at byte `start`. */
export function utf16Part(bytes: Uint8Array, start: number, encoding: Utf16): Utf16Part {
  const skipped = start % 2
  const even = bytes.subarray(skipped, bytes.length - (bytes.length - skipped) % 2)
  const high = encoding === 'utf-16be' ? 0 : 1
  const first = isSurrogate(even[high], 'second') ? 2 : 0
  const last = even.length - (isSurrogate(even.at(high - 2), 'first') ? 2 : 0)
  const from = start + skipped
  return { text: decodeUtf16(even.subarray(first, last), encoding), from: from + first, to: from + last }
}

/** Whether the high byte of a code unit is that of a surrogate. */
const isSurrogate = (high = 0, which: 'first' | 'second'): boolean =>
  high >> 2 === (which === 'first' ? 0b110110 : 0b110111)

/** Removes an incomplete UTF-8 character at the end. Bytes that are not UTF-8 may lose up to three bytes. */
export function withoutIncompleteEnd(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if (isContinuation(byte)) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return length > back ? bytes.subarray(0, -back) : bytes
  }
  return bytes
}

/** How many bytes at the start belong to a character that began earlier. */
export const leadingContinuationBytes = (bytes: Uint8Array): number => {
  const begin = bytes.subarray(0, 4).findIndex((byte) => !isContinuation(byte))
  return begin < 0 ? 0 : begin
}

const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80
