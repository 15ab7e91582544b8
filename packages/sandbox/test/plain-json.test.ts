import { findJsonFault } from '@bulkhead/kit/json'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toPlainJson } from '../src/wire/plain-json.ts'

const LIMITS = { maxDepth: 8, maxNodes: 100, maxBytes: 1_000 }

describe('a value of an extension', () => {
  it('is copied in the same way as by JSON', () => {
    expect(toPlainJson({ a: undefined, when: new Date(0), list: [undefined, 1], n: null }, LIMITS))
      .toEqual({ ok: true, value: { when: '1970-01-01T00:00:00.000Z', list: [null, 1], n: null } })
    expect(toPlainJson(undefined, LIMITS)).toEqual({ ok: true, value: null })
    expect(toPlainJson('half \ud800', LIMITS)).toEqual({ ok: true, value: 'half \ufffd' })
  })

  const cycle: { self?: unknown } = {}
  cycle.self = cycle
  it.each<readonly [string, unknown, string]>([
    ['a function', { f: () => 1 }, '"/f" is a function'],
    ['a map', { m: new Map() }, '"/m" is an instance of a class'],
    ['NaN', [Number.NaN], '"/0" is NaN'],
    ['a bigint', 1n, 'The value itself is a bigint'],
    ['a cycle', cycle, '"/self" contains itself'],
    ['a key __proto__', JSON.parse('{"a":{"__proto__":1}}'), '"/a" has the key __proto__'],
    ['an accessor that throws', { get x() { throw new Error('no') } }, 'could not be read'],
    ['a proxy that throws', new Proxy({}, { ownKeys() { throw new Error('no') } }), 'could not be read'],
  ])('is refused when it holds %s', (_what, value, message) => {
    expect(toPlainJson(value, LIMITS)).toMatchObject({
      ok: false, fault: 'malformed', message: expect.stringContaining(message) as string,
    })
  })

  it.each<readonly [string, unknown]>([
    ['deep', JSON.parse(`${'['.repeat(9)}${']'.repeat(9)}`)],
    ['many', Array.from({ length: 101 }, () => 0)],
    ['many in several lists', Array.from({ length: 2 }, () => Array.from({ length: 50 }, () => null))],
    ['full of long names', { ['k'.repeat(1_001)]: 1 }],
    ['full of small strings', Array.from({ length: 99 }, () => '12345678')],
    ['sparse', Object.assign([], { length: 4_000_000_000 })],
    ['long', 'ü'.repeat(501)],
  ])('is refused when it is too %s', (_what, value) => {
    expect(toPlainJson(value, LIMITS)).toMatchObject({ ok: false, fault: 'too large' })
  })

  it('is accepted up to its limits', () => {
    const fits = (value: unknown) => toPlainJson(value, LIMITS).ok
    expect([
      fits(JSON.parse(`${'['.repeat(8)}${']'.repeat(8)}`)), fits(Array.from({ length: 99 }, () => 0)),
      fits('x'.repeat(997)), fits('x'.repeat(998)),
    ]).toEqual([true, true, true, false])
  })

  it('is reported with the path of the fault', () => {
    expect(toPlainJson({ a: [1], b: { c: () => 1 } }, LIMITS))
      .toMatchObject({ message: expect.stringContaining('at "/b/c" is a function') as string })
  })

  it('is valid for the other side after it was copied', () => {
    const anything = fc.anything(
      { withDate: true, withMap: true, withSet: true, withNullPrototype: true, withSparseArray: true },
    )
    fc.assert(fc.property(anything, (value) => {
      const plain = toPlainJson(value, { maxDepth: 64, maxNodes: 10_000, maxBytes: 100_000 })
      if (plain.ok) expect(findJsonFault(plain.value)).toBeUndefined()
    }))
  })
})
