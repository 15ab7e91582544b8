import { expect, it } from 'vitest'
import { schemaKeywordForm } from '../src/schema-keywords.ts'

it.each([
  ['items', 'subschema'], ['prefixItems', 'list'], ['$defs', 'map'], ['pattern', 'plain'],
  ['$id', undefined], ['$dynamicRef', undefined], ['dependencies', undefined], ['widget', undefined], ['constructor', undefined],
])('knows what stands below %s: %s', (keyword, form) => {
  expect(schemaKeywordForm(keyword)).toBe(form)
})
