import { expect, it } from 'vitest'
import { run } from '../../../src/openapi/reading/read-document.ts'
import { ALL } from './read.ts'

const ROOT = `
openapi: 3.1.0
info: { title: Shop, version: '1' }
paths:
  /orders: { $ref: 'paths/orders.yaml' }
  /broken: { get: { $ref: 'paths/broken.yaml' } }
  /missing: { get: { operationId: missing, parameters: [{ $ref: '../outside.yaml' }] } }
components:
  parameters:
    Page: { name: page, in: query, schema: { $ref: 'models.json#/Page' } }
`
const ORDERS = `
post:
  operationId: create
  parameters: [{ $ref: '../api.yaml#/components/parameters/Page' }]
  requestBody: { content: { application/json: { schema: { $ref: '../models.json#/Order' } } } }
  responses: { 200: { $ref: 'never-parsed.yaml' } }
`
const MODELS = JSON.stringify({
  Page: { type: 'integer' },
  Order: { type: 'object', properties: { of: { $ref: '#/Order' }, page: { $ref: 'models.json#/Page' } } },
})

it('bundles the files of a document, and parses only those that are needed', () => {
  const read = run({
    name: 'api.yaml', text: ROOT, wanted: ALL,
    parts: [
      ['paths/orders.yaml', ORDERS], ['models.json', MODELS], ['paths/broken.yaml', 'a: ['],
      ['paths/never-parsed.yaml', ': : :'],
    ],
  })
  if (!read.ok) throw new Error(read.message)
  const { operations, faults } = read.api
  expect(operations.map(({ operationId, path }) => `${operationId} ${path}`)).toEqual(['create /orders'])
  expect(operations[0]!.inputSchema).toMatchObject({
    properties: { page: { $ref: '#/$defs/Page' }, body: { $ref: '#/$defs/Order' } },
    $defs: {
      Page: { type: 'integer' },
      Order: { properties: { of: { $ref: '#/$defs/Order' }, page: { $ref: '#/$defs/Page' } } },
    },
  })
  expect(faults).toEqual([
    expect.stringContaining('GET /broken refers to the file "paths/broken.yaml", which is neither JSON nor YAML'),
    expect.stringContaining('"missing" (GET /missing) refers to "../outside.yaml", outside the document'),
  ])
})

it('keeps the keys of YAML as they are written', () => {
  const text = `
openapi: 3.1.0
info: { title: Versions, version: '1' }
paths:
  /v:
    post:
      operationId: v
      requestBody: { content: { application/json: { schema: { $ref: '#/components/schemas/1.10' } } } }
components:
  schemas:
    1.10: { type: object, properties: { ~: { type: string }, 0x10: { enum: [0x10] } } }
    1.1: { type: string }
`
  const read = run({ name: 'api.yaml', text, wanted: ALL, parts: [] })
  expect(read).toMatchObject({ ok: true, api: { faults: [], operations: [{ operationId: 'v' }] } })
  if (!read.ok) return
  expect(JSON.stringify(read.api.operations[0]!.inputSchema)).toContain('{"~":{"type":"string"},"0x10":{"enum":[16]}}')
})
