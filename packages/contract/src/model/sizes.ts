/** A size with a unit, below 10,000MB. */
export const SIZE_PATTERN = /^[1-9](?:\d{0,9}B?|\d{0,6}KB|\d{0,3}MB)$/
export const MOST_BYTES = 9_999_999_999
/** Entries of a list in a result. */
export const MOST_ENTRIES = 100_000

/** `200KB` as a number of bytes. The schemas admit these units only. */
export function byteSize(size: number | string): number {
  if (typeof size === 'number') return size
  const unit = size.endsWith('KB') ? 1024 : size.endsWith('MB') ? 1024 * 1024 : 1
  return Number.parseInt(size, 10) * unit
}
