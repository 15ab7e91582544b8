import { join } from 'node:path'
import type { Tool } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { defineTool } from '../../src/index.ts'
import { ERAS, servedWorld, type Era, type Person, type ServedWorld } from './served-world.ts'

const SERVER = join(import.meta.dirname, '../../../bridges/test/mcp/connecting/fixtures/sdk-server.ts')

// serve-tools.test.ts has both eras, without a server.
describe.each(thoroughly<readonly Era[]>(['modern'], ERAS))('between a client of the %s era and a server', (era) => {
  let world: ServedWorld
  let asked: string[]
  beforeEach(async () => {
    asked = []
    world = await servedWorld({
      config: {
        mcp: { ship: { type: 'local', command: [process.execPath, SERVER], env: ['NODE_COMPILE_CACHE'], jail: false } },
      },
    })
  })
  afterEach(() => world.end())

  const person: Person = ({ message, requestedSchema: { properties } }) => {
    asked.push(message)
    if ('decision' in properties) return { action: 'accept', content: { decision: 'once' } }
    return {
      action: 'accept',
      content: { answer: (properties['answer'] as { readonly type: string }).type === 'boolean' ? true : 'Oslo' },
    }
  }

  it('a tool found among many runs after approval, and its questions and progress reach the user', async () => {
    await world.host.register(
      Array.from({ length: 21 }, (_, i) =>
        defineTool({
          name: `other_${i}`, description: 'Does nothing.', input: { type: 'object' }, execute: () => null,
        }),
      ),
    )
    const changed = Promise.withResolvers<readonly Tool[]>()
    const client = await world.connect(era, person, {
      listChanged: {
        tools: { onChanged: (error, tools) => (error ? changed.reject(error) : changed.resolve(tools ?? [])) },
      },
    })
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('ship_echo')
    await client.callTool({ name: 'tool_search', arguments: { query: 'gives back the text' } })
    expect((await changed.promise).find(({ name }) => name === 'ship_echo'))
      .toMatchObject({ annotations: { readOnlyHint: false, openWorldHint: true }, inputSchema: { required: ['text'] } })
    expect(await client.callTool({ name: 'ship_echo', arguments: { text: 'hello' } })).toMatchObject({
      content: [{ text: 'hello' }],
    })
    expect(asked.splice(0)).toEqual([expect.stringMatching(/^Allow `ship_echo` to run\?\nfrom: MCP server ship /)])
    expect(await client.callTool({ name: 'ship_ask' })).toMatchObject({
      content: [{ text: '{"action":"accept","content":{"port":"Oslo","sure":true}}' }],
    })
    expect(asked).toHaveLength(3)
    expect(asked[1]).toMatch(/\n\| The MCP server "ship" asks: Which port\?\n\| port/)
    const received: unknown[] = []
    await client.callTool({ name: 'ship_count' }, { onprogress: (progress) => { received.push(progress) } })
    expect(received.at(-1)).toMatchObject({ message: expect.stringMatching(/half way/) })
  })

  it('no tool runs for a client that cannot ask', async () => {
    const client = await world.connect(era)
    const refused = client.callTool({ name: 'ship_echo', arguments: { text: 'hello' } })
    if (era === 'modern') await expect(refused).rejects.toMatchObject({ code: -32021 })
    else expect(await refused).toMatchObject({ isError: true, _meta: { 'bulkhead/error': { code: 'ApprovalDenied' } } })
  })
})
