/** What the first bytes of a file say it is. */
export type FileKind = { readonly kind: 'text' } | { readonly kind: 'utf16'; readonly encoding: Utf16 } | { readonly kind: 'binary' } | { readonly kind: 'image'; readonly mimeType: string }

const SIGNATURES: readonly (readonly [mimeType: string, offset: number, bytes: readonly number[]])[] = [
  ['image/png', 0, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ['image/jpeg', 0, [0xff, 0xd8, 0xff]],
  ['image/gif', 0, [0x47, 0x49, 0x46, 0x38]],
  ['image/webp', 8, [0x57, 0x45, 0x42, 0x50]],
]

/** How many bytes are looked at. */
export const SNIFF_BYTES = 8_192

export function fileKind(head: Uint8Array): FileKind {
  const image = SIGNATURES.find(([, offset, bytes]) => bytes.every((byte, index) => head[offset + index] === byte))
  if (image) return { kind: 'image', mimeType: image[0] }
  const encoding = utf16Of(head)
  if (encoding !== undefined) return { kind: 'utf16', encoding }
  return { kind: head.includes(0) ? 'binary' : 'text' }
}

/** UTF-16 that says by its byte order mark that it is. */
export type Utf16 = 'utf-16le' | 'utf-16be'

/** What the first four bytes of a file say. UTF-32 begins like UTF-16, with a character that no text has. */
export function utf16Of([first, second, third, fourth]: Uint8Array): Utf16 | undefined {
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  return first === 0xff && second === 0xfe && !(third === 0 && fourth === 0) ? 'utf-16le' : undefined
}

/** With its mark, as text has it that is UTF-8. Each unit of the text is two bytes of the file. */
export const decodeUtf16 = (bytes: Uint8Array, encoding: Utf16): string => new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes)

export interface Utf16Part {
  readonly text: string
  readonly from: number
  readonly to: number
}

/** What stands whole in a part of a file that begins at byte `start`. */
export function utf16Part(bytes: Uint8Array, start: number, encoding: Utf16): Utf16Part {
  const skipped = start % 2
  const even = bytes.subarray(skipped, bytes.length - (bytes.length - skipped) % 2)
  const high = encoding === 'utf-16be' ? 0 : 1
  const first = isHalf(even[high], 'second') ? 2 : 0
  const last = even.length - (isHalf(even.at(high - 2), 'first') ? 2 : 0)
  const from = start + skipped
  return { text: decodeUtf16(even.subarray(first, last), encoding), from: from + first, to: from + last }
}

/** By the higher byte of a unit. */
const isHalf = (high = 0, which: 'first' | 'second'): boolean => high >> 2 === (which === 'first' ? 0b110110 : 0b110111)

/** These bytes of UTF-8 without the half of a character at their end. What is no UTF-8 may lose up to three of them. */
export function withoutHalf(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if (goesOn(byte)) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return length > back ? bytes.subarray(0, -back) : bytes
  }
  return bytes
}

/** How many bytes at the beginning belong to a character that has begun before. */
export const restOfHalf = (bytes: Uint8Array): number => {
  const begin = bytes.subarray(0, 4).findIndex((byte) => !goesOn(byte))
  return begin < 0 ? 0 : begin
}

const goesOn = (byte: number): boolean => (byte & 0xc0) === 0x80
