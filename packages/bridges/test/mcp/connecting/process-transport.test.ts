import type { ConnectedExtension } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LONG } from '../../../../../scripts/thoroughly.ts'
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

function call(extension: ConnectedExtension, tool: string): Promise<JsonObject> {
  const execute = extension.module([tool]).tools[tool]!.execute as unknown as (
    args: JsonObject, runtime: object,
  ) => Promise<JsonObject>
  return execute({}, { signal: now(), progress: () => undefined })
}

it('fails a call at once for an invalid response, and the server stays connected', async () => {
  const responses = {
    a: '{"jsonrpc":"2.0","id":$id,"result":"a text"}', b: '{"jsonrpc":"2.0","id":$id,"error":"a text"}',
    c: '{"jsonrpc":"2.0","id":$id,"error":{"code":1}}', d: '{"id":$id}',
  }
  const { extension, servers } = await connected({ tools: Object.keys(responses).map((name) => ({ name })), responses })
  for (const [name, response] of Object.entries(responses)) {
    await expect(call(extension!, `raw_${name}`), response).rejects.toMatchObject({
      code: 'ToolExecutionFailed', message: 'The server sent an invalid message.',
    })
    expect(servers.status, response).toMatchObject([{ state: 'connected' }])
  }
})

it('treats a server that closed its output as lost, even if its process runs', async () => {
  const { extension, servers } = await connected({ tools: [{ name: 'go' }], mute: true })
  await expect(call(extension!, 'raw_go')).rejects.toMatchObject({ code: 'ServerLost' })
  expect(servers.status).toMatchObject([{ state: 'unavailable' }])
})

it.each(['', null])('ends a list at the cursor %j', async (lastCursor) => {
  const many = Array.from({ length: 20 }, (_, index) => ({ name: `tool_${index}` }))
  const { servers } = await connected({ tools: many, lastCursor })
  expect(servers.status).toMatchObject([{ state: 'connected', tools: 20 }])
})

it('rejects a list with too many pages', LONG, async () => {
  const { servers } = await connected({ tools: [], lastCursor: '0' })
  expect(servers.status).toMatchObject([
    { state: 'unavailable', error: { message: expect.stringContaining('The list of tools has more than 256 pages') } },
  ])
})
