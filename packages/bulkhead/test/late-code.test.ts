// @module-tag long
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-late-')) })
afterEach(() => rmSync(folder, { recursive: true }))

const HOST = join(import.meta.dirname, 'fixtures/late-code-host.ts')
const MCP_SERVER = join(import.meta.dirname, '../../bridges/test/mcp/connecting/fixtures/raw-server.js')

it('the host loads all of its code before third-party code runs', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [HOST, folder, MCP_SERVER], {
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] }, maxBuffer: 2 ** 26,
  })
  const { loadedBy, threadsFromDisk } = JSON.parse(stdout) as {
    readonly loadedBy: Record<string, readonly string[]>
    readonly threadsFromDisk: readonly string[]
  }
  const { 'first {}': before = [], ...later } = loadedBy
  expect(threadsFromDisk).toEqual([])
  const packages = new Set(before.map((path) => /^(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]))
  expect(['undici', '@vscode/ripgrep', 'js-yaml', '@clack/prompts', '@modelcontextprotocol/client']
    .filter((name) => !packages.has(name))).toEqual([])
  expect(later).toEqual(Object.fromEntries(Object.keys(later).map((name) => [name, []])))
})
