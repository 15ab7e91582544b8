import {
  existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { JsonObject } from '@bulkhead/kit/json'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { has, needs, WALLS } from '../../../../scripts/machine.ts'
import { lookWall } from '../../../broker/src/index.ts'
import { ONLY_IN_SOAK } from '../../../../scripts/thoroughly.ts'
import { createHost, type ConfigFile, type Host } from '../../src/index.ts'
import { shareVerified } from '../cache.ts'
import { inside } from '../command-inside.ts'

const isJailed = has('bubblewrap') || (await lookWall()).stands

const HOSTILE = join(import.meta.dirname, 'fixtures/hostile-server.mjs')
const require = createRequire(import.meta.url)
const mainOf = (manifest: string) => join(dirname(manifest), 'dist/index.js')
/** The file that each official server starts with. */
const OFFICIAL = {
  files: mainOf(require.resolve('@modelcontextprotocol/server-filesystem/package.json')),
  everything: mainOf(require.resolve('@modelcontextprotocol/server-everything/package.json')),
  memory: mainOf(require.resolve('@modelcontextprotocol/server-memory/package.json')),
  thinking: mainOf(require.resolve('@modelcontextprotocol/server-sequential-thinking/package.json')),
}

let folder: string
let host: Host | undefined
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-jailed-')))
  for (const name of ['.ssh', '.bulkhead', 'work']) mkdirSync(join(folder, name))
  for (const file of ['.ssh/id', '.bulkhead/token', 'work/note']) writeFileSync(join(folder, file), file)
  shareVerified(join(folder, '.bulkhead'))
})
afterEach(async () => {
  await host?.close()
  host = undefined
  rmSync(folder, { recursive: true })
})

type Servers = NonNullable<ConfigFile['mcp']>

/** Calls tools of servers that start in their jails, with the rights of a user whose home is the folder. */
async function open(mcp: Servers, workspace = join(folder, 'work')) {
  const env = { ...process.env, HOME: folder, SECRET: 'secret', MEMORY_FILE_PATH: join(folder, 'work/memory.jsonl') }
  host = await createHost({ workspace, home: join(folder, '.bulkhead'), config: { mcp }, discover: 'when-asked', env })
  const faults = (await host.mcp.connect()).flatMap(({ error }) => error?.message ?? [])
  expect(faults).toEqual([])
  const session = await host.openSession({ mode: 'yolo' })
  return async (name: string, args: JsonObject) => {
    const outcome = await session.call({ id: crypto.randomUUID(), name, arguments: args })
    return outcome.type === 'output' ? outcome.data : `${outcome.error.code} ${outcome.error_text}`
  }
}
const local = (command: string[], requires?: NonNullable<Extract<Servers[string], { type: 'local' }>['requires']>) =>
  ({ type: 'local' as const, command: [process.execPath, ...command], ...(requires && { requires }) })
const hostile = (requires: Parameters<typeof local>[1] = {}) =>
  local([HOSTILE], { ...requires, fs: { read: ['{workspace}', dirname(HOSTILE)], ...requires.fs } })

describe('in a jail', needs('bubblewrap'), () => {
  it('a server reads the workspace, and writes only with a grant', async () => {
    const call = await open({ files: local([OFFICIAL.files, '.']) })
    expect(await call('files_read_text_file', { path: 'note' })).toEqual({ content: 'work/note' })
    expect(await call('files_write_file', { path: 'new', content: 'x' })).toMatch(
      /EROFS.*\n\[The server runs in a jail\..*mcp\.files\.requires\.fs\.write/,
    )
    expect(host!.tool('files_write_file')).toMatchObject({ requires: { fs: { read: ['{workspace}/**'], write: [] } } })
    expect(host!.tool('files_write_file')!.server).not.toHaveProperty('unconfined')
  })

  it('the official servers work', ONLY_IN_SOAK, async () => {
    const call = await open({
      files: local([OFFICIAL.files, '.'], { fs: { write: ['{workspace}'] } }),
      everything: local([OFFICIAL.everything]),
      memory: { ...local([OFFICIAL.memory], { fs: { write: ['{workspace}'] } }), env: ['MEMORY_FILE_PATH'] },
      thinking: local([OFFICIAL.thinking]),
    })
    await call('files_write_file', { path: 'new', content: 'x' })
    expect(readFileSync(join(folder, 'work/new'), 'utf8')).toBe('x')
    expect(await call('everything_echo', { message: 'hello' })).toBe('Echo: hello')
    expect(
      await call('thinking_sequentialthinking', {
        thought: 'a', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1,
      }),
    ).toMatchObject({ thoughtNumber: 1 })
    await call('memory_create_entities', { entities: [{ name: 'a', entityType: 'b', observations: [] }] })
    expect(readFileSync(join(folder, 'work/memory.jsonl'), 'utf8')).toContain('"entityType":"b"')
  })

  it('a hostile server gets no keys, nothing of Bulkhead, no variables and no network', async () => {
    // The worst case: the workspace is the home of the user.
    const call = await open({ evil: hostile() }, folder)
    const attempt = (what: string, more: JsonObject = {}) => call('evil_try', { what, ...more })
    expect(await attempt('read', { path: join(folder, 'work/note') })).toBe('work/note')
    expect(await attempt('read', { path: join(folder, '.ssh/id') })).toBe('refused ENOENT')
    expect(await attempt('list', { path: join(folder, '.bulkhead') })).toBe('')
    expect(await attempt('write', { path: join(folder, 'work/note') })).toBe('refused EROFS')
    expect(await attempt('env')).not.toMatch(/SECRET/)
    expect(await attempt('dial', { host: '169.254.169.254', port: 80 })).toBe('refused ENETUNREACH')
    expect(await attempt('fetch', { url: 'http://example.com/' })).toMatch(/^refused/)
  })

  it('a hostile server with a host reaches no other', ONLY_IN_SOAK, async () => {
    const service = createServer((_, response) => void response.end()).listen(0, '127.0.0.1')
    const port = await new Promise<number>((resolve) =>
      service.once('listening', () => resolve((service.address() as AddressInfo).port)),
    )
    try {
      const call = await open({ evil: hostile({ net: { hosts: [`127.0.0.1:${port}`] } }) })
      const attempt = (what: string, more: JsonObject) => call('evil_try', { what, ...more })
      expect(await attempt('fetch', { url: `http://127.0.0.1:${port}/` })).toBe('200')
      expect(await attempt('fetch', { url: 'http://example.com/' })).toBe('403')
      expect(await attempt('fetch', { url: 'http://169.254.169.254/latest' })).toBe('403')
      expect(await attempt('dial', { host: '127.0.0.1', port })).toBe('refused ECONNREFUSED')
    } finally {
      service.close()
    }
  })

  it('a hostile server cannot outlive its host', ONLY_IN_SOAK, async () => {
    const beats = join(folder, 'work/beats')
    const call = await open({ evil: hostile({ fs: { write: ['{workspace}'] } }) })
    expect(await call('evil_try', { what: 'outlive', path: beats })).toBe('left')
    await expect.poll(() => existsSync(beats)).toBe(true)
    await host!.close()
    const { size } = statSync(beats)
    await wait(500)
    expect(statSync(beats).size).toBe(size)
  })

  it.each([
    ['disk', { what: 'fill', path: '/tmp/full' }, /refused ENOSPC/],
    ['processes', { what: 'forks' }, /ServerLost|ended/],
    ['memory', { what: 'memory' }, /ServerLost|refused/],
  ])('a hostile server cannot exhaust the machine: %s', ONLY_IN_SOAK, async (_, args, what) => {
    const call = await open({ evil: hostile(), good: hostile() })
    expect(await call('evil_try', args)).toMatch(what)
    expect(await call('good_try', { what: 'list', path: join(folder, 'work') })).toBe('note')
  })
})

it('a server is refused at once, with a cure, where no jail can be made', WALLS, async () => {
  host = await createHost({
    workspace: join(folder, 'work'), home: join(folder, '.bulkhead'), config: { mcp: { evil: hostile() } },
  })
  await host.openSession()
  const message = expect.stringMatching(/^Local servers run in a jail, but .*Install bubblewrap.*"jail": false/)
  expect(await host.mcp.connect()).toMatchObject([isJailed ? { state: 'connected' }
    : { state: 'unavailable', error: { code: 'CapabilityUnavailable', message } }])
  expect(host.tool('evil_try') !== undefined).toBe(isJailed)
})

it('an entry names what it lacks, and one without a jail is marked', async () => {
  const config = {
    mcp: {
      old: { type: 'local', command: ['npx', '-y', '@acme/server', join(folder, '.ssh')] },
      free: { type: 'local', command: ['node'], jail: false },
    },
  }
  writeFileSync(join(folder, '.bulkhead/config.json'), JSON.stringify(config))
  const { stdout } = await inside(['tools', '--home', join(folder, '.bulkhead')], join(folder, 'work'))
  expect(stdout).toMatch(/may not read ".*\/\.ssh", which its command names/)
  expect(stdout).toMatch(/"npx" downloads it at each start/)
  expect(stdout).toMatch(/^old +local +/m)
  expect(stdout).toMatch(/^free +local, not confined +/m)
  expect(stdout).toMatch(/^warning: free has "jail": false/m)
})

it('an entry whose jail may leave the network open is marked', async () => {
  const server = { type: 'local', command: ['node'], jail: 'files', requires: { net: { hosts: ['api.example.com'] } } }
  writeFileSync(join(folder, '.bulkhead/config.json'), JSON.stringify({ mcp: { near: server } }))
  const { stdout } = await inside(['tools', '--home', join(folder, '.bulkhead')], join(folder, 'work'))
  expect(stdout).toMatch(/^near +local, network not confined +/m)
  expect(stdout).toContain('warning: near has "jail": "files" and may reach the whole network.')
})
