import { acceptReturn, type Reading } from '@bulkhead/contract/dialects'
import type { ConnectedExtension, Outcome, ToolDefinition } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { anyOutcome } from '../../../contract/test/samples/outcomes.ts'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { serveToolsOverHttp, type HttpServing } from '../../src/mcp/index.ts'
import { now, resolved, Setup } from './connecting/setup.ts'

/** Schemas that every dialect of JSON Schema of this project accepts unchanged. */
const anySchema: fc.Arbitrary<JsonObject> = fc.letrec<{ schema: JsonObject; object: JsonObject }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.constantFrom<JsonObject>(
      { type: 'string', minLength: 1, description: 'a word' }, { type: 'integer', minimum: 0, maximum: 9 },
      { type: 'boolean' }, { enum: ['a', 1, null] }, { type: 'string', format: 'date' },
      { type: ['string', 'null'], default: null }, { const: 5 },
    ),
    tie('schema').map((items) => ({ type: 'array', items, maxItems: 3 })),
    fc.array(tie('schema'), { minLength: 1, maxLength: 2 }).map((anyOf) => ({ anyOf })),
    tie('object'),
  ),
  object: fc
    .dictionary(fc.stringMatching(/^[a-z][a-z0-9_]{0,8}$/), tie('schema'), { maxKeys: 3, noNullPrototype: true })
    .map((properties) => ({
      type: 'object', properties, required: Object.keys(properties).slice(1), additionalProperties: false,
    })),
})).object

const anyTool: fc.Arbitrary<ToolDefinition> = fc
  .record({
    inputSchema: anySchema, outputSchema: fc.option(anySchema, { nil: undefined }),
    label: fc.stringMatching(/^[A-Z][a-z ]{1,20}[a-z]$/), description: fc.stringMatching(/^[A-Z][a-z ]{1,40}\.$/),
    mode: fc.constantFrom('read' as const, 'safe_write' as const, 'destructive' as const, 'external' as const),
    idempotent: fc.boolean(),
  })
  .map(({ outputSchema, ...tool }) => ({
    name: 'tool', effects: 'once', requires: {}, kind: 'other', gated: false, executor: 'local', ...tool,
    ...(outputSchema && { outputSchema }),
  }))

const COUNT = thoroughly(10, 100)
const tools = fc.sample(anyTool, COUNT).map((tool, index) => ({ ...tool, name: `tool_${index}` }))
const outcomes = fc
  .sample(anyOutcome, COUNT)
  .map((outcome, index): Outcome => ({
    ...outcome, metadata: { ...outcome.metadata, tool: `tool_${index}`, truncated: false },
  }))
  // An unknown tool is an error of the protocol.
  .map((outcome): Outcome =>
    outcome.type === 'error' && ['ToolNotRegistered', 'ToolsDisabled'].includes(outcome.error.code)
      ? { ...outcome, error: { ...outcome.error, code: 'NotFound' } }
      : outcome,
  )

const setup = new Setup()
let serving: HttpServing
beforeAll(async () => {
  serving = await serveToolsOverHttp(
    { on: () => () => undefined },
    {
      info: { name: 'ship', version: '1.0.0' },
      openSession: async () => ({
        id: 's', tools: () => tools, close: async () => undefined,
        call: async ({ name }) => outcomes[Number(name.slice(5))]!,
      }),
    },
  )
})
afterAll(async () => {
  await setup.close()
  await serving.close()
})

async function connected(): Promise<ConnectedExtension> {
  const config = resolved({
    ship: { type: 'remote', url: serving.url, headers: { Authorization: { secret: 'AUTH' } } },
  })
  const servers = setup.open({ env: { AUTH: `Bearer ${serving.tokens[0]!}` } })
  servers.offer(config)
  await servers.connect(now())
  return servers.offer(config).extensions[0]!
}

it('tool, server, client, tool keeps schemas, annotations, results and errors', async () => {
  const { manifest, module } = await connected()
  // The other one reads the resources of the server.
  expect(manifest.tools.filter(({ name }) => name.startsWith('ship_tool_'))).toHaveLength(COUNT)
  const code = module(manifest.tools.map(({ name }) => name)).tools
  for (const [index, { label, description, inputSchema, outputSchema }] of tools.entries()) {
    const name = `ship_tool_${index}`
    const kept = manifest.tools.find((tool) => tool.name === name)!
    expect(kept).toMatchObject({ label, description, inputSchema })
    expect(kept.outputSchema).toEqual(outputSchema)
    const execute = code[name]!.execute as unknown as (args: JsonObject, runtime: object) => Promise<Json>
    expectSame(
      outcomes[index]!, acceptReturn(await execute({}, { signal: now(), progress: () => undefined })),
      outputSchema !== undefined,
    )
  }
})

/**
 * Details, completion and metadata are not for a client. Data that is no object is text, unless the tool has an output
 * schema. A
 * client takes null for a missing member.
 */
function expectSame(sent: Outcome, body: Reading['body'], isFormed: boolean): void {
  expect(body.type).toBe(sent.type)
  const blocks = sent.content ?? []
  // The text of an error comes before them, and that of data which is no object after them.
  if (blocks.length > 0) {
    expect(sent.type === 'error' ? body.content!.slice(-blocks.length) : body.content!.slice(0, blocks.length)).toEqual(
      blocks,
    )
  }
  if (sent.type === 'error' && body.type === 'error') {
    expect(body.error_text.startsWith(sent.error_text)).toBe(true)
    expect(body.error.code).toBe(OF_TOOLS.has(sent.error.code) ? sent.error.code : 'ToolExecutionFailed')
  }
  if (sent.type === 'output' && body.type === 'output') {
    if (isJsonObject(sent.data)) expect(body.data).toEqual(sent.data)
    else if (isFormed && sent.data !== null) expect(body.data).toEqual({ result: sent.data })
  }
}

/** The codes that a tool may report. */
const OF_TOOLS: ReadonlySet<string> = new Set([
  'ToolExecutionFailed', 'NotFound', 'InputInvalid', 'ResourceBusy', 'ExecutionTimeout',
])

it('clients of both eras get the hints of a tool', async () => {
  for (const mode of ['legacy', { pin: '2026-07-28' }] as const) {
    const client = new Client({ name: 'editor', version: '1.0.0' }, { versionNegotiation: { mode } })
    const headers = { authorization: `Bearer ${serving.tokens[0]!}` }
    await client.connect(new StreamableHTTPClientTransport(new URL(serving.url), { requestInit: { headers } }))
    const listed = (await client.listTools()).tools
    for (const [index, tool] of tools.entries()) {
      expect(listed[index]).toMatchObject({
        inputSchema: tool.inputSchema,
        annotations: { title: tool.label, readOnlyHint: tool.mode === 'read', idempotentHint: tool.idempotent },
      })
    }
    await client.close()
  }
})
