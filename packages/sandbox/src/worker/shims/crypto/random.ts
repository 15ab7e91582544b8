import { Buffer } from 'node:buffer'
import { bytesOf, integer, later, sameBytes, wrongType, type Native } from './values.ts'

/** At once. More is asked for in parts. */
const MAX_BYTES = 64 * 1024 * 1024
const MAX_RANGE = 2 ** 48 - 1

/** Random bytes and numbers, and comparison in constant time. */
export function randomValues(native: Native): Readonly<Record<string, unknown>> {
  const bytes = (size: unknown): Buffer => {
    const filled = new Uint8Array(integer('size', size, 0, MAX_BYTES))
    native.randomFillSync(filled)
    return Buffer.from(filled.buffer)
  }
  const between = (...given: unknown[]): number => {
    const [low, high] = given.length > 1 ? given : [0, ...given]
    const least = integer('min', low, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)
    const most = integer('max', high, least + 1, least + MAX_RANGE)
    return native.randomInt(least, most)
  }
  const fill = (target: unknown, offset: unknown = 0, size?: unknown): unknown => {
    const filled = sameBytes(target)
    if (filled === undefined) throw wrongType('The buffer', 'an ArrayBuffer or a view of one')
    const start = integer('offset', offset, 0, filled.length)
    const most = filled.length - start
    filled.set(bytes(size === undefined ? most : integer('size', size, 0, most)), start)
    return target
  }
  return {
    randomBytes: (size: unknown, callback?: unknown) =>
      callback === undefined ? bytes(size) : later('randomBytes', callback, () => [bytes(size)]),
    pseudoRandomBytes: bytes,
    randomFillSync: fill,
    randomFill: (target: unknown, ...rest: unknown[]) => {
      const callback = rest.pop()
      later('randomFill', callback, () => [fill(target, ...rest)])
    },
    randomInt: (...given: unknown[]) => {
      if (typeof given.at(-1) !== 'function') return between(...given)
      const callback = given.pop()
      return later('randomInt', callback, () => [between(...given)])
    },
    randomUUID: () => native.randomUUID(),
    timingSafeEqual: (one: unknown, other: unknown) => {
      if (typeof one === 'string' || typeof other === 'string') throw wrongType('Each argument', 'a buffer or a view')
      return native.timingSafeEqual(bytesOf('The first argument', one), bytesOf('The second argument', other))
    },
  }
}
