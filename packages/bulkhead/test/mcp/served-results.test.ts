import { readFileSync } from 'node:fs'
import type { CallToolResult, Client } from '@modelcontextprotocol/client'
import { afterEach, describe, expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { writeExtension } from '../extension-folder.ts'
import { ERAS, servedWorld, type ServedWorld, type ServedWorldOptions } from './served-world.ts'

const worlds: ServedWorld[] = []
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.end()
})
async function open(options?: ServedWorldOptions): Promise<ServedWorld> {
  const world = await servedWorld(options)
  worlds.push(world)
  return world
}

const textOf = ({ content }: CallToolResult): string =>
  content.map((part) => (part.type === 'text' ? part.text : part.type)).join('\n')
const call = (client: Client, name: string, args: Record<string, unknown>) => client.callTool({ name, arguments: args })

// A result has the same form in both.
for (const era of ERAS) describe(`a client of the ${era} era`, era === 'legacy' ? LONG : {}, () => {
  it('gets a result whole that looks like another form, and an error in the form of another runtime', async () => {
    const { connect, home, host } = await open()
    const properties = { success: { type: 'boolean' }, count: { type: 'integer' } }
    const outputSchema = { type: 'object', properties, required: ['success', 'count'], additionalProperties: false }
    writeExtension(
      home, { id: 'forms', tools: [{ name: 'counts', outputSchema }, { name: 'fails' }] },
      `export default { tools: {
      counts: { execute: ({ n }) => ({ success: n > 0, count: n }) },
      fails: { execute: () => ({ variant: 'InvalidArgs', message: 'bad' }) },
    } }`,
    )
    await host.reload()
    const client = await connect(era)
    await client.listTools()
    for (const n of [3, 0]) {
      const result = await call(client, 'counts', { n })
      expect(result.structuredContent).toEqual({ success: n > 0, count: n })
      expect(result.isError ?? false).toBe(false)
    }
    const failed = await call(client, 'fails', {})
    expect(failed.isError).toBe(true)
    expect(textOf(failed)).toBe('Invalid arguments: bad')
  })

  it('gets long results truncated, with a pointer to the whole', async () => {
    const { connect, home, host } = await open()
    const required = ['first', 'last']
    writeExtension(home, {
      id: 'long', tools: [
        { name: 'long', maxOutput: '1KB' },
        { name: 'formed', maxOutput: '1KB', outputSchema: { type: 'object', required } },
        { name: 'list', outputSchema: { type: 'array', items: { type: 'number' } } },
      ],
    }, `export default { tools: {
      long: { execute: () => 'x'.repeat(5000) },
      formed: { execute: ({ n }) => ({
        first: 'x', ...Object.fromEntries(Array.from({ length: n }, (_, i) => ['member' + i, i])),
        last: 'longest'.repeat(9),
      }) },
      list: { execute: () => [1, 2] },
    } }`)
    await host.reload()
    const client = await connect(era)
    await client.listTools()
    const long = textOf(await call(client, 'long', {}))
    expect(readFileSync(/The whole is in (.*)\]$/.exec(long)![1]!, 'utf8')).toBe('x'.repeat(5000))
    expect(long.length).toBeLessThan(1500)
    expect(await call(client, 'formed', { n: 3 })).toMatchObject({
      structuredContent: { first: 'x', last: 'longest'.repeat(9) },
    })
    // The client would reject it, because required fields are missing.
    const cut = await call(client, 'formed', { n: 5000 })
    expect(cut.isError).toBe(true)
    expect(textOf(cut)).toMatch(/^\{"member0":0[\s\S]*cut here, and lacks required members\. The whole is in/)
    expect((await call(client, 'list', {})).structuredContent).toEqual(era === 'legacy' ? { result: [1, 2] } : [1, 2])
  })
})
