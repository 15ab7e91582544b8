import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import type { Json } from '@bulkhead/kit/json'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyCodePoint } from '../../kit/test/samples/text.ts'
import { hasLongString, MAX_LONG_STRINGS, putBack, takeOut } from '../src/wire/message.ts'
import type { Path } from '../src/wire/protocol.ts'

const LONG = 'x'.repeat(5_000)

function takenOut(value: Json): { readonly rest: Json; readonly texts: string[]; readonly holes: Path[] } {
  const texts: string[] = []
  const holes: Path[] = []
  return { rest: takeOut(value, texts, holes) as Json, texts, holes }
}

describe('long strings', () => {
  it('are taken out and restored, wherever they are', () => {
    const text = fc.oneof(fc.string({ unit: anyCodePoint }), fc.nat(3).map((n) => `${n}${LONG}`))
    // Strings below a key __proto__ are not taken out; see the next test.
    const key = fc.string().filter((name) => name !== '__proto__')
    const { value } = fc.letrec<{ value: Json }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        text, fc.constant(null), fc.integer(), fc.array(tie('value')), fc.dictionary(key, tie('value')),
      ),
    }))
    fc.assert(fc.property(value, (given) => {
      const original = structuredClone(given)
      const { rest, texts, holes } = takenOut(given)
      expect(given).toEqual(original)
      expect(hasLongString(given)).toBe(texts.length > 0)
      expect(hasLongString(rest)).toBe(false)
      expect(putBack(JSON.parse(JSON.stringify(rest)) as Json, holes, texts.values()))
        .toEqual(JSON.parse(JSON.stringify(given)))
    }))
  })

  it('are not taken out of a key __proto__', () => {
    const given = JSON.parse(`{"__proto__":"${LONG}","a":"${LONG}"}`) as Json
    const { rest, texts, holes } = takenOut(given)
    expect(holes).toEqual([['a']])
    expect(putBack(JSON.parse(JSON.stringify(rest)) as Json, holes, texts.values())).toEqual(given)
  })

  it('are not taken out when they are not well-formed, or too many', () => {
    expect(takenOut(`${LONG}\ud800`).texts).toEqual([])
    const { rest, texts } = takenOut(Array.from({ length: MAX_LONG_STRINGS + 1 }, () => LONG))
    expect(texts).toHaveLength(MAX_LONG_STRINGS)
    expect((rest as readonly Json[]).at(-1)).toBe(LONG)
  })
})

describe('a path from an untrusted side', () => {
  it.each<readonly [string, Json, Path]>([
    ['a property that is inherited', {}, ['__proto__', 'polluted']],
    ['a method', {}, ['toString']],
    ['the prototype of the constructor', { a: {} }, ['a', 'constructor', 'prototype', 'polluted']],
    ['an index that is not there', [null], [1]],
    ['the inside of a string', 'abc', [0]],
    ['the inside of nothing', null, ['a']],
  ])('may not lead to %s', (_what, value, path) => {
    expect(() => putBack(value, [path], [LONG].values())).toThrow('a long string has no place')
    expect('polluted' in {}).toBe(false)
  })

  it('may not replace a value, and must have its string', () => {
    expect(() => putBack([1], [[0]], [LONG].values())).toThrow('the place of a long string is taken')
    expect(() => putBack([null], [['length']], [LONG].values())).toThrow('the place of a long string is taken')
    expect(() => putBack([null], [[0], [0]], [LONG].values())).toThrow('a long string is missing')
    expect(() => putBack([null], [[0], [0]], [LONG, LONG].values())).toThrow('the place of a long string is taken')
    expect(putBack(null, [[]], [LONG].values())).toBe(LONG)
  })
})

it('keeps the protocol free of code', () => {
  const source = readFileSync(new URL('../src/wire/protocol.ts', import.meta.url), 'utf8')
  expect(stripTypeScriptTypes(source).replaceAll(/\/\*[^]*?\*\//g, '').replaceAll(';', '').trim()).toBe('')
})
