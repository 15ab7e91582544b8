import { describe, expect, it } from 'vitest'
import { randomness } from '../src/worker/native-guards.ts'

const { getRandomValues, randomUUID } = randomness(() => globalThis.crypto)

describe('getRandomValues in a compartment', () => {
  it('fills the array it is given, and nothing else of its buffer', () => {
    const whole = new Uint8Array(64)
    const part = new Uint32Array(whole.buffer, 16, 8)
    expect(getRandomValues(part)).toBe(part)
    expect([whole.subarray(0, 16), whole.subarray(48)].every((rest) => rest.every((byte) => byte === 0))).toBe(true)
    expect(whole.subarray(16, 48).some((byte) => byte !== 0)).toBe(true)
    expect(randomUUID()).toMatch(/^[0-9a-f-]{36}$/)
  })

  it.each([{}, -1, NaN, 'x', 2 ** 40])('uses the real length of an array, not a property: %j', (length) => {
    const array = new Uint8Array(32)
    for (const name of ['byteLength', 'length', 'byteOffset', 'buffer']) {
      Object.defineProperty(array, name, { value: length })
    }
    getRandomValues(array)
    expect(Array.from({ length: 32 }, (_, index) => array[index]).some((byte) => byte !== 0)).toBe(true)
  })

  it('throws the same errors as in Node', () => {
    for (const array of [new Float16Array(1), new Float32Array(1), new DataView(new ArrayBuffer(1)), {}]) {
      expect(() => getRandomValues(array as never)).toThrow(expect.objectContaining({ name: 'TypeMismatchError' }))
    }
    expect(() => getRandomValues(new Uint8Array(65_537)))
      .toThrow(expect.objectContaining({ name: 'QuotaExceededError' }))
  })
})
