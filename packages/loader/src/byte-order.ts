/** The order of the UTF-8 bytes, the same on every machine and in every language. The default sort is not: it compares UTF-16 units. */
export function byteOrder(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}
