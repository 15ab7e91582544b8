import { isDeepStrictEqual } from 'node:util'
import v8 from 'node:v8'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { dataClone } from '../src/worker/native-guards.ts'

const clone = dataClone(() => v8)

describe('structuredClone in a compartment', () => {
  it('returns the same as in Node', () => {
    const value = fc.anything({
      withBigInt: true, withDate: true, withMap: true, withSet: true, withTypedArray: true, withSparseArray: true,
      withBoxedValues: true,
    })
    fc.assert(fc.property(value, (original) => {
      expect(isDeepStrictEqual(clone(original), structuredClone(original))).toBe(true)
    }), { numRuns: thoroughly(100, 500) })
  })

  it('keeps cycles, shared references, error types and views of one buffer', () => {
    const buffer = new ArrayBuffer(8)
    const views = [new Uint8Array(buffer, 2, 3), new DataView(buffer)]
    const original = { list: [new TypeError('x', { cause: 1 })], views, self: {} }
    original.self = original
    const copy = clone(original) as typeof original
    expect(copy.self).toBe(copy)
    expect(copy.list[0]).toBeInstanceOf(TypeError)
    expect(copy.list[0]!.cause).toBe(1)
    expect(copy.views[0]!.buffer).toBe(copy.views[1]!.buffer)
    expect(copy.views[0]!.buffer).not.toBe(buffer)
    expect([copy.views[0]!.byteOffset, copy.views[0]!.byteLength]).toEqual([2, 3])
  })

  it('transfers array buffers only', () => {
    const buffer = new ArrayBuffer(8)
    expect(clone({ buffer }, { transfer: [buffer] })).toEqual({ buffer: new ArrayBuffer(8) })
    expect(buffer.detached).toBe(true)
    const { port1, port2 } = new MessageChannel()
    for (const moved of [port1, new ReadableStream(), {}, null]) {
      expect(() => clone(null, { transfer: [moved] })).toThrow(expect.objectContaining({ name: 'DataCloneError' }))
    }
    port1.close()
    port2.close()
  })

  it.each([
    ['a function', () => 1], ['a symbol', Symbol('x')], ['a proxy', new Proxy({}, {})],
    ['shared memory', new SharedArrayBuffer(1)],
  ])('refuses %s', (_name, value) => {
    expect(() => clone({ value })).toThrow(expect.objectContaining({ name: 'DataCloneError' }))
  })

  it('throws the error that an accessor throws', () => {
    expect(() => clone({ get value() { throw new RangeError('mine') } })).toThrow(RangeError)
  })
})
