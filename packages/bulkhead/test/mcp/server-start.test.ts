import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { createHost, openSqliteStore, type BulkheadEvent, type ConfigFile, type Host } from '../../src/index.ts'
import { createScriptedApprover, type ScriptedAnswer } from '../../src/testing/index.ts'
import { shareVerified } from '../cache.ts'
import { inside } from '../command-inside.ts'

const SERVER = join(import.meta.dirname, 'fixtures/hostile-server.mjs')

let folder: string
const ending: (() => unknown)[] = []
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-start-')))
  for (const name of ['work', 'home']) mkdirSync(join(folder, name))
  shareVerified(join(folder, 'home'))
})
afterEach(async () => {
  for (const end of ending.splice(0)) await end()
  rmSync(folder, { recursive: true })
})

async function open(
  mcp: NonNullable<ConfigFile['mcp']>, home = 'home',
): Promise<{ host: Host; events: BulkheadEvent[] }> {
  const host = await createHost({
    workspace: join(folder, 'work'), home: join(folder, home), config: { mcp }, discover: 'when-asked',
  })
  ending.push(() => host.close())
  const events: BulkheadEvent[] = []
  host.on((event) => void events.push(event), ['ServerStartFailed'])
  return { host, events }
}
const free = (...command: string[]) => ({ type: 'local' as const, command, jail: false })

it('a server that cannot start is a diagnostic and an event, until it starts', async () => {
  const script = join(folder, 'work/server.mjs')
  const { host, events } = await open({ ship: free(process.execPath, script), other: free(process.execPath, SERVER) })
  await host.mcp.connect()
  const faults = () => host.diagnostics.filter(({ path }) => path.startsWith('/mcp/'))
  expect(faults()).toEqual([
    expect.objectContaining({
      severity: 'error', code: 'ServerUnavailable', extensionId: 'mcp-ship', path: '/mcp/ship',
      message: expect.stringMatching(
        /^mcp server ship is unavailable: it exited during startup\. Last line of its standard error: /,
      ) as string,
    }),
  ])
  expect(events).toEqual([
    expect.objectContaining({
      type: 'ServerStartFailed', server: 'ship', extensionId: 'mcp-ship', errorCode: 'ServerUnavailable',
      message: faults()[0]!.message,
    }),
  ])
  writeFileSync(script, readFileSync(SERVER))
  await vi.waitFor(async () => {
    await host.mcp.connect(['ship'])
    expect(faults()).toEqual([])
  }, { timeout: 20_000, interval: 100 })
})

it('a session that opens reports a server that cannot start', async () => {
  const config: ConfigFile = { mcp: { ship: free('no-such-program') } }
  const host = await createHost({ workspace: join(folder, 'work'), home: join(folder, 'home'), config })
  ending.push(() => host.close())
  const events: BulkheadEvent[] = []
  host.on((event) => void events.push(event), ['ServerStartFailed'])
  expect(host.diagnostics).toEqual([])
  await host.openSession()
  expect(host.diagnostics).toMatchObject([{ code: 'ServerUnavailable', extensionId: 'mcp-ship', path: '/mcp/ship' }])
  expect(events).toMatchObject([{ server: 'ship' }])
})

it.each([
  ['at once', 0], ['after it has refused the newer era', 1],
])('a remote server that closes the connection %s has not exited', async (_, answered) => {
  let count = 0
  const server = createServer((request, response) => {
    if (count++ < answered) response.writeHead(400).end()
    else request.socket.destroy()
  }).listen(0, '127.0.0.1')
  ending.push(() => server.close())
  await new Promise((listening) => server.once('listening', listening))
  const { host, events } = await open({
    ship: { type: 'remote', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` },
  })
  await host.mcp.connect()
  expect(events).toMatchObject([
    {
      errorCode: 'ServerUnavailable',
      message: expect.stringMatching(/^mcp server ship is unavailable: it cannot be reached: (?!.*exited)/),
    },
  ])
})

it('a remote server that does not listen is named with the reason', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((listening) => server.once('listening', listening))
  const { port } = server.address() as AddressInfo
  await new Promise((closed) => server.close(closed))
  const { host, events } = await open({ ship: { type: 'remote', url: `http://127.0.0.1:${port}/mcp` } })
  await host.mcp.connect()
  expect(events).toMatchObject([
    { message: expect.stringMatching(/unavailable: it cannot be reached: .*ECONNREFUSED/) },
  ])
})

it('a list of tools prints the reason once', async () => {
  writeFileSync(join(folder, 'home/config.json'), JSON.stringify({ mcp: { ship: free('bulkhead-no-such-server') } }))
  const { stdout } = await inside(['tools', '--connect', '--home', join(folder, 'home')], join(folder, 'work'))
  expect(stdout.match(/bulkhead-no-such-server ENOENT|not installed|is unavailable/g)).toHaveLength(1)
})

describe('an entry with {home}', () => {
  /** As `mcp add` pins a package. */
  const pin = (name: string) => {
    const place = join(folder, 'home/servers', name)
    mkdirSync(place, { recursive: true })
    cpSync(SERVER, join(place, 'server.mjs'))
  }
  const inHome = (home: string, ...args: string[]) =>
    inside([...args, '--home', join(folder, home)], join(folder, 'work'))
  const entry = (...command: string[]) => ({ mcp: { notes: { type: 'local', command, jail: false } } })

  it('starts after the home has moved, stays approved, and is called pinned', LONG, async () => {
    pin('notes')
    writeFileSync(
      join(folder, 'home/config.json'), JSON.stringify(entry(process.execPath, '{home}/servers/notes/server.mjs')),
    )
    const called = async (home: string, ...answers: readonly ScriptedAnswer[]) => {
      const store = await openSqliteStore({ file: join(folder, home, 'bulkhead.db') })
      const host = await createHost({
        workspace: join(folder, 'work'), home: join(folder, home), store, config: { approvals: { project: true } },
      })
      const approver = createScriptedApprover(answers)
      const session = await host.openSession({ mode: 'ask', approver })
      const outcome = await session.call({
        id: 'a', name: 'notes_try', arguments: { what: 'list', path: join(folder, 'work') },
      })
      const { integrity } = host.tool('notes_try')!
      await host.close()
      approver.check()
      return [outcome.type, integrity]
    }
    expect(await called('home', 'project')).toEqual(['output', 'pinned'])
    renameSync(join(folder, 'home'), join(folder, 'moved'))
    expect(await called('moved')).toEqual(['output', 'pinned'])
    expect((await inHome('moved', 'doctor')).stdout).toMatch(/mcp notes .*starts/)
  })

  it('still starts if it has an absolute path, and is called pinned', LONG, async () => {
    pin('notes')
    writeFileSync(
      join(folder, 'home/config.json'),
      JSON.stringify(entry(process.execPath, join(folder, 'home/servers/notes/server.mjs'))),
    )
    expect((await inHome('home', 'tools', '--connect')).stdout).toMatch(/^notes_try .* pinned /m)
  })

  it('is refused in a project', async () => {
    mkdirSync(join(folder, 'work/.bulkhead'))
    writeFileSync(
      join(folder, 'work/.bulkhead/config.json'),
      JSON.stringify(entry(process.execPath, '{home}/servers/notes/server.mjs')),
    )
    const { stdout } = await inHome('home', 'tools', '--trust-project')
    expect(stdout).toMatch(/ConfigInvalid[\s\S]*The server "notes" uses \{home\}/)
    expect(stdout).not.toMatch(/^notes +local/m)
  })

  it('is what mcp add writes for paths of the home', async () => {
    mkdirSync(join(folder, 'home/data'))
    const program = join(folder, 'home/servers.mjs')
    writeFileSync(program, '')
    await inside(
      [
        'mcp', 'add', 'notes', '--home', join(folder, 'home'), '--read', join(folder, 'home/data'), '--', 'node',
        program,
      ],
      join(folder, 'work'),
    )
    const config = JSON.parse(readFileSync(join(folder, 'home/config.json'), 'utf8')) as ConfigFile
    expect(config.mcp).toEqual({
      notes: {
        type: 'local', command: ['node', '{home}/servers.mjs'],
        requires: { fs: { read: ['{workspace}', '{home}/data'] } },
      },
    })
  })
})

/** Why a jail does not work here, such as without bubblewrap. */
describe('a server in a jail without network', needs('bubblewrap'), () => {
  it.each([
    ['in its result', `return { content: [{ type: 'text', text: String(error) }], isError: true }`],
    ['in an error', `throw new Error(String(error))`],
    [
      'on its standard error',
      `console.error(error.cause ?? error); return { content: [{ type: 'text', text: 'no weather' }], isError: true }`,
    ],
  ])('gets a hint for "fetch failed" %s', async (_, failing) => {
    const script = join(folder, 'work/weather.mjs')
    writeFileSync(
      script,
      `
      import { createInterface } from 'node:readline'
      const call = async () => {
        try { await fetch('http://weather.example/') } catch (error) { ${failing} }
      }
      const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
      for await (const line of createInterface(process.stdin)) {
        const { id, method } = JSON.parse(line)
        if (id === undefined) continue
        if (method === 'initialize') {
          const serverInfo = { name: 'w', version: '1' }
          send({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo } })
        } else if (method === 'tools/list') {
          send({ id, result: { tools: [{ name: 'now', inputSchema: { type: 'object' } }] } })
        } else if (method === 'tools/call') {
          await call().then(
            (result) => send({ id, result }),
            (error) => send({ id, error: { code: -32000, message: error.message } }),
          )
        } else send({ id, error: { code: -32601, message: 'unknown' } })
      }`,
    )
    const { host } = await open({ weather: { type: 'local', command: [process.execPath, script] } })
    await host.mcp.connect()
    const session = await host.openSession({ mode: 'yolo' })
    const outcome = await session.call({ id: 'a', name: 'weather_now', arguments: {} })
    expect(outcome.type === 'output' ? JSON.stringify(outcome.data) : outcome.error_text).toMatch(
      /The server runs in a jail\. If it needs more, extend mcp\.weather\.requires\.net\.hosts/,
    )
  })
})
