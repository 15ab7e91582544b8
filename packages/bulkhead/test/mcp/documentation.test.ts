import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LONG, ONLY_IN_SOAK } from '../../../../scripts/thoroughly.ts'
import { startInside } from '../program-inside.ts'
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
  ['docs/guides/mcp.md', StdioClientTransport, /^```ts server\.ts\n([\s\S]*?)^```/m.exec(inPage)![1]!],
  [
    'the README of the bridges', OneProcess,
    `${AROUND}${/^```ts\n(import type \{ Interactor[\s\S]*?)^```/m.exec(inReadme)![1]!}\nawait host.close()`,
  ],
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

async function expectServed(client: Client): Promise<void> {
  expect(client.getServerVersion()?.name).toBe('my-agent')
  expect(await client.callTool({ name: 'read', arguments: { path: 'notes.md' } })).toMatchObject({
    structuredContent: { content: 'hello\n' },
  })
}

it.each(PROGRAMS)('the program of %s serves a client and ends with it', LONG, async (_, _Transport, program) => {
  writeFileSync(join(folder, 'server.ts'), program)
  const { stdin, stdout, ended } = startInside({ file: 'server.ts', cwd: folder, env: { HOME: folder } })
  const client = clientOf('modern')
  // The messages have the same form in both directions.
  await client.connect(new StdioServerTransport(stdout, stdin))
  await expectServed(client)
  await client.close()
  stdin.end()
  await ended
})

it.each(PROGRAMS)('the process of %s ends with its connection', ONLY_IN_SOAK, async (_, Transport, program) => {
  writeFileSync(join(folder, 'server.ts'), program)
  const client = clientOf('modern')
  const env = { HOME: folder, NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' }
  const transport = new Transport({ command: process.execPath, args: ['server.ts'], cwd: folder, env })
  await client.connect(transport)
  await expectServed(client)
  const { pid } = transport
  await client.close()
  expect(() => process.kill(pid!, 0)).toThrow('ESRCH')
})

it('the documented command exists', () => {
  const {
    mcpServers: {
      bulkhead: { command, args },
    },
  } = JSON.parse(/^```json client\.json\n([\s\S]*?)^```/m.exec(inPage)![1]!) as {
    readonly mcpServers: { readonly bulkhead: { readonly command: string; readonly args: readonly string[] } }
  }
  expect([command, ...args.slice(0, 2)]).toEqual(['npx', 'bulkhead', 'mcp'])
})
