import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  atPointer, canonicalJson, findJsonFault, isJsonObject, parseJson, pointerStep, targetOf, type Json, type JsonObject,
} from '../src/json.ts'
import { HOSTILE, nested, Point } from './samples/hostile.ts'
import { anyJson } from './samples/json.ts'

const LIMITS = { maxDepth: 3, maxNodes: 10, maxChars: 20 }

describe('hostile values', () => {
  it.each(HOSTILE)('rejects %s', (_, value, path, code) => {
    expect(findJsonFault(value)).toEqual({ path, code, message: expect.any(String) as unknown })
  })

  it('rejects a list that grows while it is read, in bounded time', () => {
    let length = 1
    const endless = new Proxy([], {
      get: (target, key) => key === 'length' ? length++ : Reflect.get(target, key) as unknown,
      getOwnPropertyDescriptor: () => ({ value: 1, configurable: true, enumerable: true, writable: true }),
    })
    expect(findJsonFault(endless)?.code).toBe('kind')
  })

  it('calls no method of the value and reads each property once', () => {
    const reads: string[] = []
    const watched = new Proxy({ a: 1, b: [2] }, {
      getOwnPropertyDescriptor: (target, key) => {
        reads.push(String(key))
        return Reflect.getOwnPropertyDescriptor(target, key)
      },
      get: () => { throw new Error('was called') },
    })
    expect(findJsonFault(watched)).toBeUndefined()
    expect(reads).toEqual(['a', 'b'])
  })

  it.each<[string, unknown, string, string]>([
    ['one level too many', { a: [[[1]]] }, '/a/0/0', 'depth'],
    ['one value too many', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], '/9', 'size'],
    ['one character too many', { ['k'.repeat(10)]: 'v'.repeat(11) }, '/' + 'k'.repeat(10), 'size'],
  ])('rejects %s', (_, value, path, code) => {
    expect(findJsonFault(value, LIMITS)).toMatchObject({ path, code })
  })

  it('accepts values at the limits', () => {
    expect(findJsonFault({ a: [[1]] }, LIMITS)).toBeUndefined()
    expect(findJsonFault([1, 2, 3, 4, 5, 6, 7, 8, 9], LIMITS)).toBeUndefined()
    expect(findJsonFault({ ['k'.repeat(10)]: 'v'.repeat(10) }, LIMITS)).toBeUndefined()
    expect(findJsonFault(nested(64))).toBeUndefined()
  })

  it('names the kind or class of the value, shortened', () => {
    const value = Object.create({ constructor: { ...class {}, name: 'x' } }) as object
    expect(findJsonFault(value)?.message).toBe('a value of a class is not JSON')
    expect(findJsonFault(undefined)?.message).toBe('undefined is not JSON')
    expect(findJsonFault(() => {})?.message).toBe('a function is not JSON')
    for (const holder of [{}, [0]]) {
      const accessor = Object.defineProperty(holder, 0, { get: () => 1, enumerable: true })
      expect(findJsonFault(accessor)).toEqual({ path: '/0', code: 'kind', message: 'is an accessor, not a value' })
    }
    expect(findJsonFault(new Point())?.message).toBe('a Point is not JSON')
    expect(findJsonFault(new (class {})())?.message).toBe('a value of a class is not JSON')
    const Long = Object.defineProperty(class {}, 'name', { value: 'L'.repeat(1000) })
    expect(findJsonFault(new Long())?.message).toHaveLength(64 + 'a  is not JSON'.length)
  })
})

describe('plain values', () => {
  it('from any JSON are accepted', () => {
    const anyText = fc.anything().map((value) => JSON.stringify(value))
      .filter((text) => text !== undefined && !text.includes('__proto__'))
    fc.assert(fc.property(anyText, (text) => {
      expect(findJsonFault(JSON.parse(text))).toBeUndefined()
      expect(parseJson(text)).toEqual({ ok: true, value: JSON.parse(text) as unknown })
    }))
  })

  it('may share parts and have no prototype', () => {
    const part = { a: 1 }
    expect(findJsonFault([part, part, Object.assign(Object.create(null) as object, { b: part })])).toBeUndefined()
  })
})

describe('untrusted JSON text', () => {
  it.each<[string, string, string, string]>([
    ['an empty string', '', '', 'kind'],
    ['invalid JSON', '{a:1}', '', 'kind'],
    ['more after the end', '1 2', '', 'kind'],
    ['a number that does not fit', '[1e999]', '/0', 'kind'],
    ['an own __proto__', '{"__proto__":1}', '/__proto__', 'key'],
    ['half a surrogate pair', '["\\ud800"]', '/0', 'text'],
    ['a million levels', '['.repeat(1_000_000) + ']'.repeat(1_000_000), '/0'.repeat(64), 'depth'],
    ['a million levels left open', '['.repeat(1_000_000), '', 'kind'],
    ['a million values', JSON.stringify(Array.from({ length: 1_000_000 }, () => 0)), '', 'size'],
  ])('is rejected for %s', (_, text, path, code) => {
    expect(parseJson(text)).toEqual({ ok: false, fault: { path, code, message: expect.any(String) as unknown } })
  })

  it('has the same fault as its parsed value', () => {
    const anyLimits = fc.record({ maxDepth: fc.nat(5), maxNodes: fc.nat(8) })
    fc.assert(fc.property(fc.json({ maxDepth: 5 }), anyLimits, (text, few) => {
      const limits = { ...few, maxChars: text.length }
      const parsed = parseJson(text, limits)
      expect(parsed.ok ? undefined : parsed.fault).toEqual(findJsonFault(JSON.parse(text), limits))
    }))
  })

  it('is rejected for its length before parsing', () => {
    expect(parseJson(`"${'x'.repeat(20)}"`, LIMITS)).toMatchObject({ ok: false, fault: { path: '', code: 'size' } })
  })
})

describe('canonical JSON', () => {
  it('is equal for equal values in any key order, and parses to the value', () => {
    const turned = (value: Json): Json => {
      if (Array.isArray(value)) return value.map(turned)
      if (!isJsonObject(value)) return value
      return Object.fromEntries(Object.entries(value).toReversed().map(([key, inner]) => [key, turned(inner)]))
    }
    fc.assert(fc.property(anyJson, (value) => {
      expect(canonicalJson(turned(value))).toBe(canonicalJson(value))
      expect(JSON.parse(canonicalJson(value))).toEqual(value)
    }))
  })

  it('differs for different values', () => {
    fc.assert(fc.property(anyJson, anyJson, (a, b) => {
      fc.pre(JSON.stringify(a) !== JSON.stringify(b))
      if (canonicalJson(a) === canonicalJson(b)) expect(a).toEqual(b)
    }))
    expect(canonicalJson({ b: [1, 'x'], a: null })).toBe('{"a":null,"b":[1,"x"]}')
  })
})

it('isJsonObject accepts only objects', () => {
  expect([{}, [], null, 'x', 1].map(isJsonObject)).toEqual([true, false, false, false, false])
})

it('pointerStep escapes the steps of a JSON Pointer', () => {
  expect([pointerStep('a'), pointerStep(3), pointerStep('~/')]).toEqual(['/a', '/3', '/~0~1'])
})

it('atPointer names a path, and is empty for the root', () => {
  expect([atPointer('/a/3'), atPointer('')]).toEqual([' at "/a/3"', ''])
})

describe('a reference inside a document', () => {
  const root = JSON.parse(`{
    "$defs": { "a b": 1, "c/d": 2, "~": 3, "list": [4, 5] }, "": { "": 6 }, "__proto__": { "x": 7 }
  }`) as JsonObject

  it.each<[string, Json]>([
    ['#', root], ['#/$defs/a%20b', 1], ['#/$defs/a b', 1], ['#/$defs/c~1d', 2], ['#/$defs/c%2Fd', 2],
    ['#/$defs/~0', 3], ['#/$defs/list/1', 5], ['#//', 6], ['#/__proto__/x', 7],
  ])('%s leads to %j', (reference, target) => {
    expect(targetOf(root, reference)).toBe(target)
  })

  it.each([
    '#/$defs/list/01', '#/$defs/list/length', '#/$defs/none', '#/constructor', '#/%', '#anchor', 'other#/$defs/list',
    '',
    '/$defs',
  ])('"%s" leads nowhere', (reference) => {
    expect(targetOf(root, reference)).toBeUndefined()
  })
})
