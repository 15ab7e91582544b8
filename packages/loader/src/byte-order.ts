/** The order of the UTF-8 bytes: the same in every language, which the default order of UTF-16 units is not. */
export function byteOrder(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}
