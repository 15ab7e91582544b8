import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { copyJson, deepFreeze } from '../src/json-copy.ts'
import { findJsonFault, type Json } from '../src/json.ts'
import { HOSTILE } from './samples/hostile.ts'

const isFrozen = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozen))

describe('a copy of a value', () => {
  it('equals the parsed JSON of the value and is deeply frozen', () => {
    fc.assert(fc.property(fc.json().map((text) => JSON.parse(text) as unknown), (value) => {
      const copy = copyJson(value)
      if (copy.ok) {
        expect(copy.value).toEqual(JSON.parse(JSON.stringify(value)))
        expect(isFrozen(copy.value)).toBe(true)
      } else expect(findJsonFault(value)).toEqual(copy.fault)
    }), { examples: [[JSON.parse('{"__proto__":null}')]] })
  })

  it.each<[string, unknown, Json]>([
    ['a zero has no sign', -0, 0], ['objects are plain', Object.create(null), {}],
    ['keys are in property order', { 2: 'b', 1: 'a' }, { 1: 'a', 2: 'b' }],
  ])('%s', (_, value, expected) => {
    const copy = copyJson(value)
    expect(copy.ok && copy.value).toStrictEqual(expected)
  })

  it('does not change with the original', () => {
    const original = { list: [1], text: 'a' }
    const copy = copyJson(original)
    original.list.push(2)
    expect(copy).toMatchObject({ ok: true, value: { list: [1], text: 'a' } })
  })

  it.each(HOSTILE)('is rejected for %s', (_, value, path, code) => {
    expect(copyJson(value)).toEqual({ ok: false, fault: { path, code, message: expect.any(String) as unknown } })
  })

  it('is rejected for a value that changes between reads', () => {
    let looks = 0
    const twoFaced = new Proxy({}, { getPrototypeOf: () => (looks++ === 0 ? Date.prototype : Object.prototype) })
    expect(copyJson(twoFaced)).toEqual({
      ok: false, fault: { path: '', code: 'kind', message: 'changes each time it is read' },
    })
  })

  it('reports the same fault as findJsonFault', () => {
    const strange = fc.anything({
      withNullPrototype: true, withDate: true, withMap: true, withSparseArray: true, withBigInt: true, maxDepth: 4,
    })
    fc.assert(fc.property(strange, (value) => {
      const copy = copyJson(value)
      expect(copy.ok ? undefined : copy.fault).toEqual(findJsonFault(value))
    }), { numRuns: thoroughly(100, 500) })
    const limits = { maxDepth: 2, maxNodes: 4, maxChars: 6 }
    const values = [
      [[[]]], [[1]], [1, 2, 3, 4], [1, 2, 3], 'seven..', 'sixsix', { a: { b: 'cdefg' } }, { a: { b: 'cdef' } },
    ]
    for (const value of values) {
      const copy = copyJson(value, limits)
      expect(copy.ok ? undefined : copy.fault).toEqual(findJsonFault(value, limits))
    }
    const cyclic: unknown[] = []
    cyclic.push({ cyclic })
    expect(copyJson(cyclic)).toMatchObject({ ok: false, fault: { code: 'cycle', path: '/0/cyclic' } })
  })

  it('counts its characters as JSON, without escapes', () => {
    fc.assert(fc.property(fc.json({ noUnicodeString: true }).map((text) => JSON.parse(text) as unknown), (value) => {
      const text = JSON.stringify(value)
      const copy = copyJson(value)
      if (copy.ok && !text.includes('\\')) expect(copy.chars).toBe(text.length)
    }))
  })
})

it('deepFreeze freezes everything in a value, which stays the same object', () => {
  const value = { list: [1, { a: 'x' }], none: null }
  expect(deepFreeze(value)).toBe(value)
  expect(() => value.list.push(2)).toThrow(TypeError)
  expect(() => Object.assign(value.list[1]!, { a: 'y' })).toThrow(TypeError)
  expect([deepFreeze('text'), deepFreeze(null), deepFreeze(undefined)]).toEqual(['text', null, undefined])
})
