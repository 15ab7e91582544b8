import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { checkApprovalKey, compileApprovalKey } from '../src/policy/approval-key.ts'
import { canonicalJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { anyJson } from '../../kit/test/samples/json.ts'

const refusal = expect.objectContaining({ code: 'ApprovalKeyInvalid' }) as unknown as Error
const key = (template: string, args: JsonObject) => compileApprovalKey(template)(args)

describe('an approval key', () => {
  it.each<[string, JsonObject, string]>([
    ['{city}', { city: 'Oslo' }, 'Oslo'],
    ['{action}:{path}', { action: 'rm', path: 'a/b' }, 'rm:a/b'],
    ['{action}:{path}', { action: 'a:b', path: 'c' }, 'a%3ab:c'],
    ['to {target.host}', { target: { host: 'x.test' } }, 'to x.test'],
    ['{a}', { a: 5 }, '5'],
    ['{a}', { a: '5' }, "%'5"],
    ['{a}', { a: '5.0' }, '5.0'],
    ['{a}', { a: '"5"' }, '"5"'],
    ['{a}', { a: true }, 'true'],
    ['{a}', { a: null }, 'null'],
    ['{a}', {}, '%-'],
    ['{a.b}', { a: 'text' }, '%-'],
    ['{a.length}', { a: [1, 2] }, '%-'],
    ['{constructor}', {}, '%-'],
    ['{a}', { a: { y: 1, x: [2] } }, '{"x":[2],"y":1}'],
    ['{a}', { a: '100%' }, '100%25'],
    ['{a}', { a: 'one\ntwo' }, 'one%0atwo'],
    ['{a}€{b}', { a: '1 €', b: '' }, '1 %e2%82%ac€'],
    ['100%: {a}', { a: 'x' }, '100%: x'],
  ])('%s with %j gives %j', (template, args, expected) => {
    expect(key(template, args)).toBe(expected)
  })

  it.each([
    ['no argument', 'always'], ['nothing', ''], ['a lone opening brace', '{a}{'], ['a lone closing brace', 'a}{b}'],
    ['an empty placeholder', '{}'],
    ['a placeholder that is no path', '{a b}'], ['a path with an empty step', '{a..b}'],
    ['two placeholders side by side', '{a}{b}'],
    ['a % between placeholders', '{a}%{b}'], ['half a surrogate pair', '\ud83d{a}'],
  ])('rejects a template with %s', (_, template) => {
    expect(() => compileApprovalKey(template)).toThrow(refusal)
  })

  it.each(['{a}', '{a}:{b}', '{a}2{b}', '{a}-{b}', "{a}'{b}", '{a}:{b}25{c}', 'x{a}é{b}%', '{a}"{b}', '{a}5{b}'])(
    'of %s is never the same for different arguments', (template) => {
      const names = [...template.matchAll(/\{(\w)\}/g)].map((match) => match[1]!)
      const tricky = fc.string({ unit: fc.constantFrom('%', '2', '5', ':', '-', "'", '"', 'é', 'a', '\n', '[', ']'),
        maxLength: 4 })
      const value: fc.Arbitrary<Json> = fc.oneof(tricky, fc.constantFrom(
        2, 5, 25, null, true, '2', '25', 'null', 'true', '[2]',
      ),
        fc.constant([2]), anyJson)
      const args = fc.record(
        Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [], noNullPrototype: true },
      )
      const compiled = compileApprovalKey(template)
      const made = (given: JsonObject) => {
        try {
          return compiled(given)
        } catch {
          return undefined
        }
      }
      fc.assert(fc.property(args as fc.Arbitrary<JsonObject>, args as fc.Arbitrary<JsonObject>, (one, other) => {
        const first = made(one)
        if (first !== undefined && first === made(other)) expect(canonicalJson(one)).toBe(canonicalJson(other))
      }), { numRuns: thoroughly(100, 3_000) })
    })

  it('can be parsed, so different arguments give different keys', () => {
    const text = fc.string({ unit: fc.constantFrom('%', '2', '5', ':', '-', "'", 'a', '\u0000', '1'), maxLength: 6 })
    const decode = (part: string) => part.replace(/^%'/, '').replaceAll(/%([0-9a-f]{2})/g,
      (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    fc.assert(fc.property(text, text, (a, b) => {
      expect(key('{a}:{b}', { a, b }).split(':').map(decode)).toEqual([a, b])
    }))
  })

  it('is equal for equal arguments in any key order', () => {
    expect(key('{a}', { a: { x: 1, y: 2 } })).toBe(key('{a}', { a: { y: 2, x: 1 } }))
  })
})

describe('a derived key', () => {
  it.each<[string, unknown]>([
    ['nothing', ''], ['no text', 5], ['undefined', undefined], ['a line break', 'a\nb'], ['a NUL', '\0'],
    ['a C1 control', 'a\u0085'],
    ['a line separator', 'a\u2028b'], ['half a surrogate pair', 'a\ud800'], ['more than 1024 bytes', 'é'.repeat(513)],
  ])('is rejected for %s', (_, value) => {
    expect(() => checkApprovalKey(value)).toThrow(refusal)
  })

  it('is unchanged', () => {
    for (const good of ['.', 'git log', 'é'.repeat(512), '😀']) expect(checkApprovalKey(good)).toBe(good)
  })

  it('is rejected if the arguments make it empty or too long', () => {
    expect(() => key('{a}', { a: '' })).toThrow(refusal)
    expect(() => key('{a}', { a: 'x'.repeat(2_000) })).toThrow(refusal)
  })
})
