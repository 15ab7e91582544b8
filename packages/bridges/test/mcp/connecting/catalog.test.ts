import { MANIFEST_LIMITS } from '@bulkhead/contract'
import { manifestSchema } from '@bulkhead/contract/validation'
import type { JsonObject } from '@bulkhead/kit/json'
import { expect, it } from 'vitest'
import { readCatalog } from '../../../src/mcp/connecting/catalog/catalog.ts'
import { serverEntries } from '../../../src/mcp/connecting/server-entry.ts'
import { serverExtension } from '../../../src/mcp/connecting/catalog/server-extension.ts'
import { toolName } from '../../../src/connected/entries.ts'
import { toolSchema } from '../../../src/connected/tool-schema.ts'

const [ship] = serverEntries({
  layers: [
    {
      layer: 'global', location: 'g',
      config: { mcp: { 'my-ship': { type: 'remote', url: 'https://Example.com:8443/mcp' } } },
    },
  ],
}).entries

const extensionOf = (...tools: unknown[]) =>
  serverExtension(ship!, readCatalog('1.2.3', tools), () => ({ execute: () => null }))

it('reads valid tools and reports the others', () => {
  let deep: unknown = {}
  for (let level = 0; level < 100; level++) deep = { deep }
  const { tools, faults } = readCatalog('1', [
    { name: 'good', description: 'x', icons: ['ignored'] }, null, 5, { description: 'nameless' }, { name: '' },
    { name: 'n'.repeat(129) },
    { name: 'deep', inputSchema: deep }, { name: 'wide', description: 'x'.repeat(300_000) },
    { name: 'good', description: 'again' },
  ])
  expect(tools.map(({ definition }) => definition)).toEqual([{ name: 'good', description: 'x' }])
  expect(faults).toHaveLength(8)
})

it('limits the number of tools', () => {
  const { tools, faults } = readCatalog('1', Array.from({ length: 500 }, (_, index) => ({ name: `t${index}` })))
  expect(tools).toHaveLength(MANIFEST_LIMITS.tools)
  expect(faults).toHaveLength(128)
})

it('computes a digest over the whole definition', () => {
  const digestOf = (more: object) =>
    readCatalog('1', [{ name: 'go', description: 'a', inputSchema: { type: 'object' }, ...more }]).tools[0]!.digest
  const others = [
    {}, { description: 'b' }, { title: 'T' }, { inputSchema: { type: 'object', properties: {} } }, { outputSchema: {} },
    { annotations: { readOnlyHint: true } },
  ]
  expect(new Set(others.map(digestOf)).size).toBe(others.length)
  expect(digestOf({ icons: [], _meta: { at: 1 } })).toBe(digestOf({}))
  expect(digestOf({ description: 'x'.repeat(5_000) + 'a' })).not.toBe(
    digestOf({ description: 'x'.repeat(5_000) + 'b' }),
  )
})

it('creates a valid manifest', () => {
  const { extension, diagnostics } = extensionOf({
    name: 'a.b', description: `${'x'.repeat(5_000)}`,
    annotations: { title: `The title${'x'.repeat(200)}`, readOnlyHint: true, idempotentHint: true },
  })
  expect(diagnostics).toEqual([])
  const manifest = manifestSchema.parse(extension!.manifest)
  expect(manifest.tools).toMatchObject([{
    name: 'my_ship_a_b', label: `The title${'x'.repeat(118)}…`, gated: true, idempotent: false, mode: 'external',
    timeoutMs: 30_000,
    requires: { net: { hosts: ['example.com:8443'] } },
  }])
  expect(manifest.tools[0]!.description).toHaveLength(4_096)
  expect(extension!.server.tools).toEqual(new Map([['my_ship_a_b', 'a.b']]))
})

it('changes the version with the list and the timeout', () => {
  const versionOf = (tool: object, timeoutMs?: number) => serverExtension(
    { ...ship!, config: { ...ship!.config, ...(timeoutMs !== undefined && { timeoutMs }) } }, readCatalog('v1', [tool]),
    () => ({ execute: () => null }),
  ).extension!.manifest.version
  const versions = [versionOf({ name: 'a' }), versionOf({ name: 'a', description: 'x' }), versionOf({ name: 'a' }, 5)]
  expect(new Set(versions).size).toBe(3)
  expect(versionOf({ name: 'a' })).toBe(versions[0])
})

it('offers neither of two tools with the same name', () => {
  const { extension, diagnostics } = extensionOf({ name: 'a.b' }, { name: 'a-b' }, { name: 'c' })
  expect(extension!.manifest.tools.map(({ name }) => name)).toEqual(['my_ship_c'])
  expect(diagnostics).toMatchObject([
    { code: 'ShapeInvalid', message: expect.stringContaining('"a.b" and "a-b" would both be called "my_ship_a_b"') },
  ])
  expect(extensionOf({ name: 'a.b' }, { name: 'a-b' }).extension).toBeUndefined()
})

it('converts schemas of older drafts, with a warning', () => {
  const inputSchema = {
    type: 'object', properties: { size: { type: 'integer', minimum: 0, exclusiveMinimum: true, required: true } },
  }
  const { extension, diagnostics } = extensionOf({
    name: 'a', inputSchema, outputSchema: { type: 'object', properties: [] },
  })
  expect(extension!.manifest.tools).toMatchObject([{
    inputSchema: { type: 'object', properties: { size: { type: 'integer', exclusiveMinimum: 0 } }, required: ['size'] },
    outputSchema: { type: 'object', properties: {} },
  }])
  expect(diagnostics).toMatchObject([{
    severity: 'warning', code: 'ConfigSchemaInvalid',
    message: 'A schema of "my_ship_a" is not valid JSON Schema 2020-12 and was converted: '
      + 'it has "required" inside properties, boolean exclusive bounds, an empty list instead of an empty object.',
  }])
})

it('uses characters that every model API accepts, and a digest for long names', () => {
  expect(toolName(['ship', 'Über/mut'])).toBe('ship__ber_mut')
  const [long, other] = [toolName(['ship', 'x'.repeat(128)]), toolName(['ship', `${'x'.repeat(127)}y`])]
  expect(long).toMatch(/^ship_x{50}_[0-9a-f]{8}$/)
  expect(other).not.toBe(long)
})

it('removes unknown keywords from a schema, and only keywords', () => {
  const written: JsonObject = {
    $schema: 'http://json-schema.org/draft-07/schema#', 'x-order': 1,
    properties: {
      'x-order': { type: 'string', format: 'regex', example: 'a' }, format: { type: 'integer', format: 'int64' },
      $schema: { type: 'string', format: 'uri' },
    },
    enum: [{ $schema: 'data' }], items: [{ nullable: true, type: 'string' }],
    additionalItems: { type: 'integer', widget: 'slider' }, additionalProperties: { strict: true },
    dependencies: { a: ['b'] },
  }
  const $schema = 'https://json-schema.org/draft/2020-12/schema'
  expect(toolSchema(written)).toEqual({
    $schema, type: 'object', enum: [{ $schema: 'data' }], prefixItems: [{ type: 'string' }], items: { type: 'integer' },
    additionalProperties: {}, dependentRequired: { a: ['b'] },
    properties: {
      'x-order': { type: 'string', format: 'regex' }, format: { type: 'integer', format: 'int64' },
      $schema: { type: 'string', format: 'uri' },
    },
  })
  const referring = {
    $schema: 'http://json-schema.org/draft-07/schema#', definitions: { a: { $id: '#a', type: 'string' } },
    properties: { b: { $ref: '#a', maxLength: 1, description: 'B.' } },
  }
  expect(toolSchema(referring)).toEqual({
    $schema, type: 'object', definitions: { a: { $anchor: 'a', type: 'string' } },
    properties: { b: { $ref: '#a', description: 'B.' } },
  })
  expect(toolSchema(null)).toEqual({ type: 'object', properties: {} })
})

it('reports tools that run only as tasks', () => {
  const tool = (name: string, taskSupport?: string) =>
    ({ name, inputSchema: { type: 'object' }, ...(taskSupport && { execution: { taskSupport } }) })
  const { tools, faults } = readCatalog(
    '1', [tool('plain'), tool('long', 'required'), tool('either', 'optional'), tool('never', 'forbidden')],
  )
  expect(tools.map(({ name }) => name)).toEqual(['plain', 'either', 'never'])
  expect(faults).toEqual(['"long" runs only as a task, and tasks are not supported'])
})
