const SURROGATE = /[\ud800-\udfff]/

/** The order of the UTF-8 bytes: the same in every language, which the default order of UTF-16 units is not. */
export function byteOrder(left: string, right: string): number {
  // Without surrogates the two orders are one.
  if (!SURROGATE.test(left) && !SURROGATE.test(right)) return left < right ? -1 : left > right ? 1 : 0
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}
