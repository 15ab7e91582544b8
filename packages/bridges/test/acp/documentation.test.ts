import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import {
  client, ndJsonStream, PROTOCOL_VERSION, type RequestPermissionResponse, type SessionUpdate,
} from '@agentclientprotocol/sdk'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'

const ROOT = join(import.meta.dirname, '../../../..')

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-acp-'))
  mkdirSync(join(folder, 'node_modules/@bulkhead'), { recursive: true })
  symlinkSync(join(ROOT, 'packages/bulkhead'), join(folder, 'node_modules/bulkhead'))
  symlinkSync(join(ROOT, 'packages/bridges'), join(folder, 'node_modules/@bulkhead/bridges'))
  symlinkSync(
    join(ROOT, 'packages/bridges/node_modules/@agentclientprotocol'), join(folder, 'node_modules/@agentclientprotocol'),
  )
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
})
afterEach(() => rmSync(folder, { recursive: true }))

it('the agent of the page works for an editor of the SDK over stdio, and ends with its connection', LONG, async () => {
  const page = readFileSync(join(ROOT, 'docs/guides/acp.md'), 'utf8')
  writeFileSync(join(folder, 'agent.ts'), /^```ts agent\.ts\n([\s\S]*?)^```/m.exec(page)![1]!)
  const env = { HOME: folder, NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' }
  const child = spawn(process.execPath, ['agent.ts'], { cwd: folder, env, stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const updates: SessionUpdate[] = []
  const asked = Promise.withResolvers<void>()
  let person = Promise.resolve<RequestPermissionResponse>({ outcome: { outcome: 'selected', optionId: 'allow_once' } })
  const connection = client({ name: 'editor' })
    .onNotification('session/update', ({ params }) => void updates.push(params.update))
    .onRequest('session/request_permission', () => {
      if (updates.length > 3) asked.resolve()
      return person
    })
    .connect(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>))
  const { agent } = connection
  await agent.request('initialize', { protocolVersion: PROTOCOL_VERSION })
  const { sessionId } = await agent.request('session/new', { cwd: folder, mcpServers: [] })
  expect(await agent.request('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'hello' }] }))
    .toEqual({ stopReason: 'end_turn' })
  expect(readFileSync(join(folder, 'hello.txt'), 'utf8')).toBe('hello\n')
  const diff = { type: 'diff', path: join(folder, 'hello.txt'), newText: 'hello\n' }
  expect(updates.map((update) => 'status' in update ? update.status : ''))
    .toEqual(['pending', 'in_progress', 'completed'])
  expect(updates[0]).toMatchObject({ kind: 'edit', content: [diff] })
  person = new Promise(() => {})
  const cancelled = agent.request('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'again' }] })
  await asked.promise
  await agent.notify('session/cancel', { sessionId })
  expect(await cancelled).toEqual({ stopReason: 'cancelled' })
  child.stdin.end()
  expect(await ended).toEqual([0, null])
})
