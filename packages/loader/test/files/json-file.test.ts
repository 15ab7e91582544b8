import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { findDuplicateKey } from '../../src/files/json-file.ts'

describe('finds a duplicate key', () => {
  test.each([
    ['{"a":1,"a":2}', '/a'],
    ['{"a":{"b":1,"c":2,"b":3}}', '/a/b'],
    ['[0,{"x":1},{"y":1,"y":1}]', '/2/y'],
    ['{"a":1,"\\u0061":2}', '/a'],
    ['{"":1,"":2}', '/'],
    ['{"a/b":{"~":1,"~":1}}', '/a~1b/~0'],
    ['{"a":[{"b":"}","c":"\\"","c":1}]}', '/a/0/c'],
    ['{"a":"\\\\","a":1}', '/a'],
    ['{"toString":1,"toString":2}', '/toString'],
  ])('finds it in %s', (text, pointer) => {
    expect(JSON.parse(text)).toBeDefined()
    expect(findDuplicateKey(text)).toBe(pointer)
  })

  test.each([
    '{}', '[]', '"a"', '1', '{"a":{"a":{"a":1}}}', '[{"a":1},{"a":1}]', '{"a":"a","b":"a"}',
    '{"a":["a","a"],"b":{"a":1}}',
    '{"a,b":1,"a":"\\"a\\":"}',
  ])('but not in %s', (text) => {
    expect(findDuplicateKey(text)).toBeUndefined()
  })

  test('but never in the output of JSON.stringify', () => {
    fc.assert(fc.property(fc.json(), fc.nat(3), (json, indent) => {
      expect(findDuplicateKey(JSON.stringify(JSON.parse(json), null, indent))).toBeUndefined()
    }), { numRuns: thoroughly(100, 500) })
  })

  test('finds it at any place', () => {
    const records = fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 })
    fc.assert(fc.property(records, fc.nat(), fc.jsonValue({ maxDepth: 2 }), (record, pick, around) => {
      const entries = Object.entries(record)
      const [key, value] = entries[pick % entries.length]!
      const members = [...entries, [key, value]]
        .map(([name, member]) => `${JSON.stringify(name)}:${JSON.stringify(member)}`)
      expect(findDuplicateKey(`[${JSON.stringify(around)},{${members.join(' , ')}}]`)).toBe(
        `/1/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`,
      )
    }), { numRuns: thoroughly(60, 300) })
  })
})
