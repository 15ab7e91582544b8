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
