import { createRequire } from 'node:module'
import { expect, it } from 'vitest'
import { schemaKeywordForm } from '../../src/schema/keywords.ts'

it.each([
  ['items', 'subschema'], ['prefixItems', 'list'], ['$defs', 'map'], ['definitions', 'map'], ['pattern', 'plain'],
  ['$id', 'plain'], ['$dynamicRef', 'plain'], ['dependencies', undefined], ['widget', undefined],
  ['constructor', undefined],
])('the value of %s is: %s', (keyword, form) => {
  expect(schemaKeywordForm(keyword)).toBe(form)
})

const read = createRequire(import.meta.url)

/** The form of a keyword according to its description in the meta-schema. */
function standardForm(description: object): string {
  const text = JSON.stringify(description)
  if (!/#meta|schemaArray/.test(text)) return 'plain'
  return 'additionalProperties' in description ? 'map' : text.includes('schemaArray') ? 'list' : 'subschema'
}

it('knows every keyword of 2020-12', () => {
  const keywords = ['core', 'applicator', 'unevaluated', 'validation', 'meta-data', 'format-annotation', 'content']
    .flatMap((part) => {
    const { properties } = read(`ajv/dist/refs/json-schema-2020-12/meta/${part}.json`) as {
      properties: Readonly<Record<string, object>>,
    }
    return Object.entries(properties)
  })
  expect(keywords.map(([keyword]) => [keyword, schemaKeywordForm(keyword)]))
    .toEqual(keywords.map(([keyword, description]) => [keyword, standardForm(description)]))
})

it('knows every keyword of draft-07', () => {
  const { properties } = read('ajv/dist/refs/json-schema-draft-07.json') as {
    properties: Readonly<Record<string, object>>,
  }
  expect(Object.keys(properties).filter((keyword) => schemaKeywordForm(keyword, 'draft-07') === undefined)).toEqual([])
  expect(['prefixItems', 'dependentRequired', 'unevaluatedItems', '$anchor']
    .map((keyword) => schemaKeywordForm(keyword, 'draft-07'))).toEqual(Array(4).fill(undefined))
})
