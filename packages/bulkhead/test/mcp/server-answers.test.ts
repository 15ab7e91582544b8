import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createHost, type Host } from '../../src/index.ts'
import { shareVerified } from '../cache.ts'

let folder: string
let home: string
let host: Host | undefined
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-answers-')))
  home = join(folder, 'home/.bulkhead')
  mkdirSync(home, { recursive: true })
  shareVerified(home)
})
afterEach(async () => {
  await host?.close()
  rmSync(folder, { recursive: true })
})

const RAW = join(import.meta.dirname, '../../../bridges/test/mcp/connecting/fixtures/raw-server.js')

it('a server answers in the form of MCP, also if its outputSchema admits every object', async () => {
  const inputSchema = { type: 'object', properties: {} }
  const tools = ['counts', 'fails'].map((name) => ({ name, inputSchema, outputSchema: { type: 'object' } }))
  const answer = (result: JsonObject) => JSON.stringify({ jsonrpc: '2.0', id: '$id', result }).replace('"$id"', '$id')
  const text = (words: string) => [{ type: 'text', text: words }]
  const responses = {
    counts: answer({ content: text('three'), structuredContent: { success: true, count: 3 } }),
    fails: answer({ content: text('no wind'), isError: true }),
  }
  const script = join(folder, 'forms.json')
  writeFileSync(script, JSON.stringify({ tools, responses }))
  writeFileSync(join(home, 'config.json'), JSON.stringify({ mcp: { ship: { type: 'local', command: [process.execPath, RAW, script], jail: false } } }))
  host = await createHost({ workspace: folder, home })
  const session = await host.openSession({ mode: 'yolo' })
  await host.mcp.connect()
  const call = (name: string) => session.call({ id: name, name, arguments: {} })
  expect(await call('ship_counts')).toMatchObject({ type: 'output', data: { success: true, count: 3 } })
  expect(await call('ship_fails')).toMatchObject({ type: 'error', error_text: 'no wind' })
})
