import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'
import { expect, it, onTestFinished } from 'vitest'
import { createHost } from '../../src/index.ts'
import { CACHE } from '../cache.ts'

const RAW = join(import.meta.dirname, '../../../bridges/test/mcp/connecting/fixtures/raw-server.js')
const answer = (result: JsonObject) =>
  JSON.stringify({ jsonrpc: '2.0', id: '$id', result }).replace('"$id"', '$id')
const text = (words: string) => [{ type: 'text', text: words }]

it('a server answers in the form of MCP, also if its outputSchema admits every object', async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-forms-')))
  const tools = ['counts', 'fails'].map((name) =>
    ({ name, inputSchema: { type: 'object', properties: {} }, outputSchema: { type: 'object' } }))
  const responses = {
    counts: answer({ content: text('three'), structuredContent: { success: true, count: 3 } }),
    fails: answer({ content: text('no wind'), isError: true }),
  }
  writeFileSync(join(folder, 'script.json'), JSON.stringify({ tools, responses }))
  const ship = {
    type: 'local' as const, command: [process.execPath, RAW, join(folder, 'script.json')], jail: false as const,
  }
  const host = await createHost({
    workspace: folder, home: join(folder, 'home'), cache: CACHE, config: { mcp: { ship } },
  })
  onTestFinished(async () => {
    await host.close()
    rmSync(folder, { recursive: true })
  })
  const session = await host.openSession({ mode: 'yolo' })
  await host.mcp.connect()
  const call = (name: string) => session.call({ id: name, name, arguments: {} })
  expect(await call('ship_counts')).toMatchObject({ type: 'output', data: { success: true, count: 3 } })
  expect(await call('ship_fails')).toMatchObject({ type: 'error', error_text: 'no wind' })
})
