import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { clientOf, OneProcess } from './served-world.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const inPage = readFileSync(join(ROOT, 'docs/guides/mcp.md'), 'utf8')
const inReadme = readFileSync(join(ROOT, 'packages/bridges/README.md'), 'utf8')

const AROUND = `
import { createHost } from 'bulkhead'
const host = await createHost({ workspace: process.cwd() })
`
/** `pnpm soak` starts the first as a client does: a process that finds the era, and one that serves. */
const PROGRAMS = [
  ['docs/guides/mcp.md', thoroughly(OneProcess, StdioClientTransport), /^```ts server\.ts\n([\s\S]*?)^```/m.exec(inPage)![1]!],
  ['the README of the bridges', OneProcess, `${AROUND}${/^```ts\n(import type \{ Interactor[\s\S]*?)^```/m.exec(inReadme)![1]!}\nawait host.close()`],
] as const

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-mcp-'))
  mkdirSync(join(folder, 'node_modules/@bulkhead'), { recursive: true })
  symlinkSync(join(ROOT, 'packages/bulkhead'), join(folder, 'node_modules/bulkhead'))
  symlinkSync(join(ROOT, 'packages/bridges'), join(folder, 'node_modules/@bulkhead/bridges'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'notes.md'), 'hello\n')
})
afterEach(() => rmSync(folder, { recursive: true }))

it.each(PROGRAMS)('the program of %s serves a client, and ends with its connection', async (_, Transport, program) => {
  writeFileSync(join(folder, 'server.ts'), program)
  const client = clientOf('modern')
  const env = { HOME: folder, NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' }
  const transport = new Transport({ command: process.execPath, args: ['server.ts'], cwd: folder, env })
  await client.connect(transport)
  expect(client.getServerVersion()?.name).toBe('my-agent')
  expect(await client.callTool({ name: 'read', arguments: { path: 'notes.md' } })).toMatchObject({ structuredContent: { content: 'hello\n' } })
  const { pid } = transport
  await client.close()
  expect(() => process.kill(pid!, 0)).toThrow('ESRCH')
})

it('the documented command exists', () => {
  const { mcpServers: { bulkhead: { command, args } } } = JSON.parse(/^```json client\.json\n([\s\S]*?)^```/m.exec(inPage)![1]!) as
    { readonly mcpServers: { readonly bulkhead: { readonly command: string; readonly args: readonly string[] } } }
  expect([command, ...args.slice(0, 2)]).toEqual(['npx', 'bulkhead', 'mcp'])
})
