import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ConfiguredLanguageServers } from '@bulkhead/bridges/lsp'
import { McpServers } from '@bulkhead/bridges/mcp'
import type { ConfigFile, ResolvedConfig } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { createServerJail } from '@bulkhead/sandbox'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../scripts/machine.ts'
import { LONG } from '../../../scripts/thoroughly.ts'

const HOSTILE = join(import.meta.dirname, 'mcp/fixtures/hostile-server.mjs')
const LANGUAGE = join(import.meta.dirname, '../../bridges/test/lsp/fixtures/server.js')
const signal = new AbortController().signal

let folder: string
let opened: { close(): Promise<void> } | undefined
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-limits-')))
})
afterEach(async () => {
  await opened?.close()
  opened = undefined
  rmSync(folder, { recursive: true })
})

const jail = (projectLayer: string) =>
  createServerJail({ kept: [], ownCode: [], projectLayer, home: undefined, limits: { memoryMb: 180 } })

/** The clock stands still, so that every pause between two attempts would be without end. */
const options = () => ({
  self: { name: 'test', version: '1.0.0' }, onChange: () => undefined, now: () => 0,
  surroundings: {
    workspace: folder, base: { PATH: process.env['PATH'] ?? '' }, env: () => undefined,
    jail: jail(join(folder, '.bulkhead')),
  },
})
const resolved = (config: ConfigFile): ResolvedConfig =>
  ({ merged: config, layers: [{ layer: 'global', location: 'config.json', config }] })
const granting = (script: string, ...args: readonly string[]) =>
  ({ command: [process.execPath, script, ...args], requires: { fs: { read: ['{workspace}', dirname(script)] } } })

describe('a server that exceeds the memory of its jail', needs('bubblewrap'), () => {
  it('is ended with the reason, and the next call starts it again', async () => {
    const servers = new McpServers(options())
    opened = servers
    const config = resolved({ mcp: { evil: { type: 'local', ...granting(HOSTILE) } } })
    servers.offer(config)
    await servers.connect(signal)
    const { tools } = servers.offer(config).extensions[0]!.module(['evil_try'])
    const execute = tools['evil_try']!.execute as unknown as (args: JsonObject, runtime: object) => Promise<JsonObject>
    const attempt = (args: JsonObject) => execute(args, { signal, progress: () => undefined })
    for (let count = 0; count < 2; count++) {
      await expect(attempt({ what: 'hold', path: '/tmp/full' })).rejects.toMatchObject({
        code: 'ServerLost',
        message: expect.stringMatching(/ended it: it used more than 180 MB of memory\. The next call/),
      })
      expect(servers.status).toMatchObject([{ state: 'unavailable' }])
      expect(await attempt({ what: 'list', path: '/dev/shm' })).toMatchObject({ content: [{ text: '' }] })
    }
  })

  it('is started again also if it is a language server', LONG, async () => {
    const servers = new ConfiguredLanguageServers(options())
    opened = servers
    expect(
      servers.configure(resolved({ lsp: { test: { ...granting(LANGUAGE, 'greedy'), suffixes: ['.test'] } } })),
    ).toEqual([])
    const hover = (line: number) => servers.hover({ path: 'a.test', text: 'one' }, { line, character: 0 }, signal)
    await expect(hover(1)).rejects.toMatchObject({
      code: 'ServerLost', message: expect.stringMatching(/180 MB of memory/),
    })
    expect(await hover(0)).toBe('one')
  })
})
