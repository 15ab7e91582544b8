import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createHost, type Host } from '../src/index.ts'
import { CACHE } from './cache.ts'

let folder: string
let host: Host
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-foreign-tools-'))
  mkdirSync(join(folder, 'work'))
  writeFileSync(join(folder, 'work/notes.md'), 'one two\n')
  host = await createHost({ workspace: join(folder, 'work'), home: join(folder, 'home'), cache: CACHE, env: {} })
})
afterEach(async () => {
  await host.close()
  rmSync(folder, { recursive: true })
})

const call = async (name: string, args: object) => {
  const session = await host.openSession({ mode: 'yolo' })
  return session.call({ id: 'c', name, arguments: args })
}
const TEXT = {
  type: 'object', properties: { text: { type: 'string' } }, required: ['text'], additionalProperties: false,
}

/** Written for stud, with every member of its contract. */
const studTool = {
  kind: 'Tool', contractVersion: '1.0.0', requiredCoreVersion: '^1.0.0',
  configSchema: { type: 'object', properties: {}, additionalProperties: false },
  loadedCardinality: 'unlimited', activeCardinality: 'unlimited', stateSlot: 'none', reloadBehavior: 'between-turns',
  name: 'shout', inputSchema: TEXT, outputSchema: { type: 'string' }, executor: 'local', gated: true,
  deriveApprovalKey: ({ text }: { text: string }) => `shout ${text.slice(0, 3)}`,
  async execute({ text }: { text: string }, _host: unknown, signal: AbortSignal) {
    if (text === '')
      return { ok: false, error: { class: 'ToolTerminal', code: 'NotFound', context: { message: 'no text' } } }
    return { ok: true, value: `${text.toUpperCase()} ${signal instanceof AbortSignal}` }
  },
} as const

it('imports the tool contract of stud', async () => {
  await host.register(studTool)
  expect(host.tool('shout')).toMatchObject({ description: 'shout', gated: true, outputSchema: { type: 'string' } })
  expect(await call('shout', { text: 'abcdef' })).toMatchObject({ type: 'output', data: 'ABCDEF true' })
  expect(await call('shout', { text: '' })).toMatchObject({
    metadata: { attempt: 1 }, error: { code: 'NotFound' }, error_text: expect.stringContaining('no text') as string,
  })
  expect(await call('shout', { text: 1 })).toMatchObject({ error: { code: 'InputInvalid' } })
  const session = await host.openSession()
  expect(await session.explain({ id: 'c', name: 'shout', arguments: { text: 'abcdef' } })).toMatchObject({
    approvalKey: 'shout abc',
  })
  expect(await host.unregister('shout')).toBe(true)
})

it('checks the contract version of stud, and leaves remote tools to MCP', async () => {
  await expect(host.register({ ...studTool, contractVersion: '2.0.0' })).rejects.toMatchObject({
    code: 'ContractVersionMismatch',
  })
  await expect(host.register({ ...studTool, executor: 'remote' } as never)).rejects.toMatchObject({
    code: 'ConfigInvalid',
  })
})

it('imports the tool contract of grida, confined to what it requires', async () => {
  await host.register({
    id: 'count', description: 'Counts words.', requires: { fs: { read: ['{workspace}/*.md'] } },
    parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    async execute({ path }: { path: string }, { fs }: { fs: { readText(path: string): Promise<string> } }) {
      if (path === 'none') return { type: 'error', error_text: 'nothing to count', metadata: { duration_ms: 1 } }
      const data = (await fs.readText(path)).trim().split(' ').length
      return { type: 'output', data, metadata: { duration_ms: 1 } }
    },
  })
  expect(host.tool('count')).toMatchObject({ description: 'Counts words.' })
  expect(await call('count', { path: 'notes.md' })).toMatchObject({ type: 'output', data: 2 })
  expect(await call('count', { path: 'none' })).toMatchObject({ type: 'error', error_text: 'nothing to count' })
  expect(await call('count', { path: '/etc/hostname' })).toMatchObject({ error: { code: 'CapabilityDenied' } })
})
