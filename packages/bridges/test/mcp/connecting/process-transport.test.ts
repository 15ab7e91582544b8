import type { ConnectedExtension } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { McpServers } from '../../../src/mcp/index.ts'
import { Setup, now, resolved } from './setup.ts'

let setup: Setup
beforeEach(() => { setup = new Setup() })
afterEach(() => setup.close())

async function connected(script: object): Promise<{ extension: ConnectedExtension | undefined; servers: McpServers }> {
  const servers = setup.open()
  const config = resolved({ raw: setup.raw(script) })
  servers.offer(config)
  await servers.connect(now())
  return { servers, extension: servers.offer(config).extensions[0] }
}

function go(extension: ConnectedExtension): Promise<JsonObject> {
  const execute = extension.module(['raw_go']).tools['raw_go']!.execute as unknown as (args: JsonObject, runtime: object) => Promise<JsonObject>
  return execute({}, { signal: now(), progress: () => undefined })
}

const tools = [{ name: 'go' }]

it.each([
  '{"jsonrpc":"2.0","id":$id,"result":"a text"}',
  '{"jsonrpc":"2.0","id":$id,"error":"a text"}',
  '{"jsonrpc":"2.0","id":$id,"error":{"code":1}}',
  '{"id":$id}',
])('fails a call at once for an invalid response: %s', async (response) => {
  const { extension, servers } = await connected({ tools, response })
  await expect(go(extension!)).rejects.toMatchObject({
    code: 'ToolExecutionFailed', message: 'The server sent an invalid message.',
  })
  expect(servers.status).toMatchObject([{ state: 'connected' }])
})

it('treats a server that closed its output as lost, even if its process runs', async () => {
  const { extension, servers } = await connected({ tools, mute: true })
  await expect(go(extension!)).rejects.toMatchObject({ code: 'ServerLost' })
  expect(servers.status).toMatchObject([{ state: 'unavailable' }])
})

it.each(['', null])('ends a list at the cursor %j', async (lastCursor) => {
  const many = Array.from({ length: 20 }, (_, index) => ({ name: `tool_${index}` }))
  const { servers } = await connected({ tools: many, lastCursor })
  expect(servers.status).toMatchObject([{ state: 'connected', tools: 20 }])
})

it('rejects a list with too many pages', async () => {
  const { servers } = await connected({ tools: [], lastCursor: '0' })
  expect(servers.status).toMatchObject([
    { state: 'unavailable', error: { message: expect.stringContaining('The list of tools has more than 256 pages') } },
  ])
})
