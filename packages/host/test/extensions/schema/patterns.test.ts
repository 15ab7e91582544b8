import fc from 'fast-check'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { Validators } from '../../../src/extensions/schema-checks.ts'

const accepts = (schema: JsonObject, value: Json): boolean => new Validators().compile(schema)(value) === undefined
const matches = (pattern: string, text: string): boolean => accepts({ type: 'string', pattern }, text)

describe('a pattern', () => {
  it.each([...'-:@"#% _,;=!&~\'`<>'])('with an escaped %j is enforced as that character', (character) => {
    const pattern = `^a\\${character}b[\\${character}x]$`
    expect([`a${character}b${character}`, `a${character}bx`, `a\\${character}b${character}`, `ab${character}`]
      .map((text) => matches(pattern, text))).toEqual([true, true, false, false])
  })

  it.each(['A', 'Z', 'z', 'Q', 'G', 'a', 'e', 'h', 'R', 'X', 'é'])(
    'with the undefined escape \\%s is not enforced',
    (letter) => {
      expect([matches(`\\${letter}[0-9]+$`, 'any text'), matches(`^[\\${letter}]$`, 'any text')]).toEqual([true, true])
    },
  )

  const LONG = `^${'a'.repeat(1_024)}$`
  it.each(['(', '[b-a]', '^(?!x)', '(a)\\1', 'a{2,1}', '\\', '[\\w-.]', 'LONG'])(
    'that cannot be enforced is ignored: %j', (given) => {
      const pattern = given === 'LONG' ? LONG : given
      expect(accepts({ type: 'string', pattern, maxLength: 1 }, 'x')).toBe(true)
      expect(accepts({ type: 'string', pattern, maxLength: 1 }, 'xy')).toBe(false)
    })

  it('knows the white space and the line ends of ECMAScript', () => {
    const sources = [
      '^\\s$', '^\\S$', '^[\\s]$', '^[\\S]$', '^[^\\s]$', '^[^\\S]$', '^.$', '^[\\s\\S]$', '^[^]$', '[]', '^[\\b]$',
    ]
    for (const source of sources) {
      const [check, expected] = [new Validators().compile({ pattern: source }), new RegExp(source, 'u')]
      const wrong = Array.from({ length: 0x3100 }, (_, code) => code)
        .concat(0xfeff, 0xfffe, 0x1f600, 0x10ffff)
        .filter(
          (code) => (check(String.fromCodePoint(code)) === undefined) !== expected.test(String.fromCodePoint(code)),
        )
      expect(wrong, source).toEqual([])
    }
  })

  it('matches what ECMAScript matches', () => {
    const piece = fc.constantFrom(
      'a', '.', '\\s', '\\S', '\\d', '\\W', '[a\\s]', '[^\\Sb]', '[[^a]', '[^\\]]', '\\-', '[a\\-z]', '\\.',
      '(?:a|\\s)', '\\p{Letter}', '\\u{1F600}', '\\x41', '[^]', '\\/', '\\bA', 'b?', '\\s*', 'a{1,2}', '^', '$',
    )
    const text = fc.array(
      fc.constantFrom('a', 'b', 'A', ' ', '\u00a0', '\n', '\r', '\u2028', '-', ']', '[', '.', '/', '😀', 'é', '1'),
    )
    fc.assert(fc.property(fc.array(piece, { maxLength: 5 }), text, (pieces, parts) => {
      const [source, value] = [pieces.join(''), parts.join('')]
      return (
        matches(source, value)
        === new RegExp(source.replaceAll('\\-', '[\\-]').replaceAll('[a[\\-]z]', '[a\\-z]'), 'u').test(value)
      )
    }), { numRuns: thoroughly(50, 5_000) })
  })
})

describe('a pattern that cannot be enforced costs no tool:', () => {
  const idle = { pattern: '\\A[a-z]+\\Z' }
  it.each<[string, JsonObject, Json]>([
    ['in not', { not: { type: 'string', ...idle } }, 'A'],
    ['in not, below', { not: { properties: { a: idle } } }, { a: 'A' }],
    ['in not, behind a reference', { not: { $ref: '#/$defs/a' }, $defs: { a: idle } }, 'A'],
    ['in two of oneOf', { oneOf: [idle, { pattern: '(?=x)' }] }, 'x'],
    ['in a condition', { if: idle, then: { maxLength: 1 }, else: { maxLength: 1 } }, 'long'],
    ['in contains, at most', { contains: idle, minContains: 0, maxContains: 1 }, ['A', 'B']],
    ['in the names of properties', { patternProperties: { '\\Aa': false }, additionalProperties: false }, { ab: 1 }],
    ['in a condition that evaluates', {
      if: { properties: { a: idle } }, then: true, else: { properties: { b: true } }, unevaluatedProperties: false,
    }, { a: 'A', b: 1 }],
    ['behind a dynamic reference', {
      $id: 'https://example.com/a', $dynamicAnchor: 'x', ...idle,
      $defs: { b: { $id: 'b', $dynamicAnchor: 'x', properties: { c: { not: { $dynamicRef: '#x' } } } } },
      properties: { b: { $ref: 'b' } },
    }, { b: { c: 'A' } }],
  ])('the tool is offered with a pattern %s', (_, schema, value) => {
    expect(accepts(schema, value)).toBe(true)
  })

  it('and what does not depend on it stays enforced', () => {
    const schema = {
      not: { const: 1 }, oneOf: [{ type: 'string', ...idle }, { minimum: 5 }], maxContains: 1, contains: { const: 2 },
    }
    expect([accepts(schema, 1), accepts(schema, 3), accepts(schema, [2, 2]), accepts(schema, [2])])
      .toEqual([false, false, false, true])
  })
})
