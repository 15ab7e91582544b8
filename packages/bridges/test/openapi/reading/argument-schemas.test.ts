import { expect, it } from 'vitest'
import { ArgumentSchemas } from '../../../src/openapi/reading/argument-schemas.ts'

const detail = { levels: 1, descriptionChars: 100, mostSchemas: 100 }
const cut = { description: expect.stringContaining('is cut') as string }

it.each(['dependencies', 'dependentSchemas'])('%s describe the same value, so that they add no level', (keyword) => {
  const list = { type: 'array', items: { type: 'string' } }
  const schemas = new ArgumentSchemas({}, false, detail)
  expect(schemas.of({ type: 'object', [keyword]: { a: { properties: { b: { type: 'string' }, c: list } } } })).toEqual({
    type: 'object', dependentSchemas: { a: { properties: { b: { type: 'string' }, c: { type: 'array', ...cut } } } },
  })
})
