import type { JsonObject } from '@bulkhead/kit/json'
import { expect, it } from 'vitest'
import { headerFault, readCatalog } from '../../../src/mcp/connecting/catalog/catalog.ts'

const header = (name: unknown, more: object = { type: 'string' }) => ({ ...more, 'x-mcp-header': name }) as JsonObject
const taking = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more }) as JsonObject

it.each<[string, JsonObject]>([
  ['no header', taking({ a: { type: 'string' } })],
  [
    'primitive values',
    taking({
      a: header('Region'), b: header('X-Count', { type: 'integer' }), c: header('dry_run', { type: 'boolean' }),
    }),
  ],
  ['a nested parameter', taking({ deep: taking({ a: header('Region') }) })],
  ['a default that looks like a declaration', taking({ a: { type: 'string', default: { 'x-mcp-header': '' } } })],
  ['a parameter of that name', taking({ 'x-mcp-header': { type: 'string' } })],
])('accepts %s', (_, schema) => {
  expect(headerFault(schema)).toBeUndefined()
})

it.each<[string, JsonObject]>([
  ['an empty name', taking({ a: header('') })],
  ['a name that is not a string', taking({ a: header(5) })],
  ['a name with a space', taking({ a: header('two words') })],
  ['a name with a line break', taking({ a: header('A\r\nEvil') })],
  ['a name beyond ASCII', taking({ a: header('Région') })],
  ['a number', taking({ a: header('A', { type: 'number' }) })],
  ['an object', taking({ a: header('A', { type: 'object' }) })],
  ['a value of any type', taking({ a: header('A', {}) })],
  ['the same name twice', taking({ a: header('Region'), b: taking({ c: header('region') }) })],
  ['the arguments object', taking({}, header('A', {}))],
  ['an element of a list', taking({ a: { type: 'array', items: header('A') } })],
  ['a schema in anyOf', taking({ a: { anyOf: [header('A')] } })],
  ['a schema in $defs', taking({}, { $defs: { a: taking({ b: header('A') }) } })],
])('rejects %s', (_, schema) => {
  expect(headerFault(schema)).toMatch(/^declares /)
})

it('leaves out only the invalid tool, and only if headers are sent', () => {
  const listed = [
    { name: 'good', inputSchema: taking({ a: header('A') }) }, { name: 'bad', inputSchema: taking({ a: header('') }) },
    { name: 'none' }, null,
  ]
  const { tools, faults } = readCatalog('1', listed, true)
  expect(tools.map(({ name }) => name)).toEqual(['good', 'none'])
  expect(faults[0]).toMatch(/^"bad" declares a header/)
  expect(readCatalog('1', listed).tools).toHaveLength(3)
})
