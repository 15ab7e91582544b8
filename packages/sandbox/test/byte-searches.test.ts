import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SEARCHES } from '../src/worker/native-guards.ts'

const NAMES = ['indexOf', 'lastIndexOf', 'includes'] as const

describe.each(NAMES)('Buffer.prototype.%s in a compartment', (name) => {
  const ours = (self: unknown, ...args: readonly unknown[]): unknown => Reflect.apply(SEARCHES[name]!, self, args)
  const theirs = (self: unknown, ...args: readonly unknown[]): unknown =>
    Reflect.apply(Buffer.prototype[name] as (...given: unknown[]) => unknown, self, args)

  it('returns the same as in Node', () => {
    const value = fc.oneof(fc.nat(255), fc.string({ maxLength: 2 }), fc.uint8Array({ maxLength: 2 }))
    const place = fc.option(fc.integer({ min: -12, max: 12 }), { nil: undefined })
    const encoding = fc.constantFrom(undefined, 'utf8', 'latin1', 'hex')
    fc.assert(fc.property(fc.uint8Array({ maxLength: 8 }), value, place, place, encoding, (bytes, ...args) => {
      expect(ours(Buffer.from(bytes), ...args)).toBe(theirs(Buffer.from(bytes), ...args))
    }))
  })

  it('accepts an encoding as any argument', () => {
    const bytes = Buffer.from('ab', 'utf16le')
    for (const rest of [['utf16le'], [0, 'utf16le'], [undefined, undefined, 'utf16le']]) {
      expect(ours(bytes, 'b', ...rest)).toBe(theirs(bytes, 'b', ...rest))
    }
  })

  it('returns or throws for any argument, and never aborts the process', () => {
    const bytes = Object.defineProperty(Buffer.from('abc'), 'length', { value: {} })
    const found = name === 'includes' ? true : 1
    expect(ours(bytes, 98)).toBe(found)
    expect(ours(new DataView(bytes.buffer, bytes.byteOffset, 3), 98)).toBe(found)
    for (const end of [{}, null, 'utf8', NaN, [], true, () => 1]) expect(() => ours(bytes, 98, 0, end)).not.toThrow()
    for (const end of [Symbol('x'), 1n]) expect(() => ours(bytes, 98, 0, end)).toThrow(TypeError)
  })

  it('throws the same error as Node for a receiver that is not a buffer', () => {
    for (const self of [{}, [], 'abc']) {
      expect(() => ours(self, 98)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARG_TYPE' }))
    }
  })
})
