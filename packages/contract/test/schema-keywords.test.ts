import { createRequire } from 'node:module'
import { expect, it } from 'vitest'
import { schemaKeywordForm } from '../src/schema-keywords.ts'

it.each([
  ['items', 'subschema'], ['prefixItems', 'list'], ['$defs', 'map'], ['definitions', 'map'], ['pattern', 'plain'],
  ['$id', undefined], ['$dynamicRef', undefined], ['dependencies', undefined], ['widget', undefined], ['constructor', undefined],
])('knows what stands below %s: %s', (keyword, form) => {
  expect(schemaKeywordForm(keyword)).toBe(form)
})

const read = createRequire(import.meta.url)

/** A keyword as the standard describes it: by the form of what it is given. */
function standardForm(description: object): string {
  const text = JSON.stringify(description)
  if (!/#meta|schemaArray/.test(text)) return 'plain'
  return 'additionalProperties' in description ? 'map' : text.includes('schemaArray') ? 'list' : 'subschema'
}

it('knows every keyword of the standard, but for those that reach beyond a schema', () => {
  const keywords = ['core', 'applicator', 'unevaluated', 'validation', 'meta-data', 'format-annotation', 'content'].flatMap((part) => {
    const { properties } = read(`ajv/dist/refs/json-schema-2020-12/meta/${part}.json`) as { properties: Readonly<Record<string, object>> }
    return Object.entries(properties)
  })
  const beyond = ['$anchor', '$dynamicAnchor', '$dynamicRef', '$id', '$schema', '$vocabulary']
  expect(keywords.map(([keyword]) => keyword).filter((keyword) => schemaKeywordForm(keyword) === undefined).toSorted()).toEqual(beyond)
  const within = keywords.filter(([keyword]) => !beyond.includes(keyword))
  expect(within.map(([keyword]) => [keyword, schemaKeywordForm(keyword)]))
    .toEqual(within.map(([keyword, description]) => [keyword, standardForm(description)]))
})
