import fc from 'fast-check'
import { expect, it } from 'vitest'
import { pointerStep, type Json } from '../src/json.ts'
import { placeInJson, removeJson } from '../src/json-edit.ts'

const remove = (text: string, ...pointers: string[]): string => removeJson(text, new Set(pointers))

it('removes members and items, and keeps the rest as it is written', () => {
  const text = '{\n  "a" : [1,  2,\n 3],\n\t"b":{ "c": "x,\\"}" , "d": [ ] },  "e/f": null\n}\n'
  expect(remove(text)).toBe(text)
  expect(remove(text, '/a')).toBe('{\n  "b":{ "c": "x,\\"}" , "d": [ ] },  "e/f": null\n}\n')
  expect(remove(text, '/a/0')).toBe(text.replace('1,  2', '2'))
  expect(remove(text, '/a/1')).toBe(text.replace(',  2', ''))
  expect(remove(text, '/a/2', '/b/d')).toBe('{\n  "a" : [1,  2],\n\t"b":{ "c": "x,\\"}" },  "e/f": null\n}\n')
  expect(remove(text, '/e~1f')).toBe('{\n  "a" : [1,  2,\n 3],\n\t"b":{ "c": "x,\\"}" , "d": [ ] }\n}\n')
  expect(remove(text, '/nowhere', '/a/9')).toBe(text)
})

it('removes what becomes empty, except the outermost', () => {
  const text = '{ "a": { "b": { "c": [1] } }, "d": [] }'
  expect(remove(text, '/a/b/c/0')).toBe('{ "d": [] }')
  expect(remove(text, '/a', '/d')).toBe('{}')
  expect(remove('[1]', '/0')).toBe('[]')
})

it('leaves the same values as removing them from the parsed document', () => {
  const withoutOne = (value: Json, [step, ...rest]: readonly string[]): Json | undefined => {
    if (step === undefined) return undefined
    const entries = Object.entries(value as object).flatMap(([key, child]: [string, Json]) => {
      const kept = key === step ? withoutOne(child, rest) : child
      return kept === undefined ? [] : [[key, kept] as const]
    })
    if (entries.length === 0) return undefined
    return Array.isArray(value) ? entries.map(([, child]) => child) : Object.fromEntries(entries)
  }
  const pathsIn = (value: Json): readonly string[][] =>
    typeof value !== 'object' || value === null
      ? []
      : Object.entries(value).flatMap(([key, child]: [string, Json]) => [
          [key], ...pathsIn(child).map((path) => [key, ...path]),
        ])
  fc.assert(fc.property(fc.jsonValue(), fc.nat(), fc.constantFrom(undefined, 2, '\t'), (given, nth, space) => {
    const value = JSON.parse(JSON.stringify(given)) as Json
    const paths = pathsIn(value)
    if (paths.length === 0) return
    const path = paths[nth % paths.length]!
    const left = removeJson(
      JSON.stringify(value, null, space), new Set([path.map((step) => pointerStep(step)).join('')]),
    )
    expect(JSON.parse(left)).toEqual(withoutOne(value, path) ?? (Array.isArray(value) ? [] : {}))
  }), { numRuns: 200 })
})

it('finds the line of a value, or of the nearest one around it', () => {
  const text = '{\n  "a": [1,\n    { "b/c": 2 }],\n  "ab": 3\n}\n'
  expect(['', '/a', '/a/1', '/a/1/b~1c', '/a/1/gone/x', '/ab', '/gone'].map((pointer) => placeInJson(text, pointer)))
    .toEqual([1, 2, 3, 3, 3, 4, 1])
})
