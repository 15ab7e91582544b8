import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { BulkheadError, ConnectedExtension, Interact } from '@bulkhead/contract'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { LONG } from '../../../../../scripts/thoroughly.ts'
import type { McpServers } from '../../../src/mcp/index.ts'
import { Setup, call, connectedTo, inShell, now, resolved } from './setup.ts'

let setup: Setup
beforeEach(() => { setup = new Setup() })
afterEach(() => setup.close())

const connected = (servers: McpServers, config = resolved({ ship: setup.sdk() })) => connectedTo(servers, config)

/** An ended process that was not waited for yet still has a pid. */
const isAlive = (pid: number): boolean => {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}

it('offers cached tools without starting a server', async () => {
  const cache = join(setup.folder, 'cache')
  const config = resolved({ ship: setup.sdk() })
  const first = setup.open({ cache })
  expect(first.offer(config).extensions).toEqual([])
  expect(first.status).toMatchObject([{ name: 'ship', state: 'unknown', tools: undefined }])
  expect(setup.notes).toEqual([])
  await first.connect(now())
  expect(first.status).toMatchObject([{ name: 'ship', state: 'connected', tools: 11 }])
  expect(setup.notes).toHaveLength(1)
  expect(readdirSync(cache)).toHaveLength(1)

  const second = setup.open({ cache })
  const [extension] = second.offer(config).extensions
  expect(second.status).toMatchObject([{ state: 'known', tools: 11 }])
  expect(setup.notes).toHaveLength(1)
  expect(extension).toMatchObject({
    layer: 'global', server: { kind: 'mcp', name: 'ship' },
    manifest: { id: 'mcp-ship', version: expect.stringMatching(/^3\.2\.1\+[0-9a-f]{12}$/) },
  })
  expect(extension!.manifest.tools[0]).toMatchObject({
    name: 'ship_echo', label: 'Echo', description: 'Gives back the text.', gated: true, mode: 'local',
    idempotent: false,
  })
  expect(await call(extension!, 'ship_echo', { text: 'ahoy' })).toEqual({ content: [{ type: 'text', text: 'ahoy' }] })
  expect(setup.notes).toHaveLength(2)
})

describe('a connected server', () => {
  const shared = new Setup()
  let extension: ConnectedExtension
  beforeAll(async () => {
    const env = { FIXTURE_TOKEN: 'a-long-enough-secret', OTHER_TOKEN: 'not for it' }
    extension = await connected(
      shared.open({ env }), resolved({ ship: shared.sdk({ env: ['FIXTURE_TOKEN', 'NOT_SET'] }) }),
    )
  })
  afterAll(() => shared.close())

  it('gets only the named variables, and is started in the workspace', async () => {
    const { structuredContent } = await call(extension, 'ship_variables') as {
      structuredContent: { names: string[]; cwd: string; token: string },
    }
    expect(structuredContent.names.toSorted()).toEqual(['FIXTURE_TOKEN', 'PATH'])
    expect(structuredContent.cwd).toBe(shared.folder)
    expect(structuredContent.token).toBe('[secret FIXTURE_TOKEN]')
  })

  it('forwards tool errors, progress and standard error', async () => {
    const lines: string[] = []
    const log = { info: (line: string) => lines.push(line), debug() {}, warn() {}, error() {} }
    await extension.module([]).init!({ config: {}, log } as never)
    expect(lines).toEqual([String.raw`ready to serve with [secret FIXTURE_TOKEN]\u{202e}`])
    expect(await call(extension, 'ship_fail')).toEqual({
      content: [{ type: 'text', text: 'no such ship' }], isError: true,
    })
    const progress = vi.fn<(text: string) => void>()
    await call(extension, 'ship_count', {}, { progress })
    expect(progress.mock.calls).toEqual([['half way']])
  })

  it('cancels a call at the server without affecting others', async () => {
    const stop = new AbortController()
    const hanging = call(extension, 'ship_hang', {}, { signal: stop.signal })
    await expect.poll(() => shared.notes, { interval: 5 }).toContain('hanging')
    stop.abort(new Error('enough'))
    await expect(hanging).rejects.toThrow('enough')
    await expect.poll(() => shared.notes, { interval: 5 }).toContain('cancelled')
    expect(await call(extension, 'ship_echo', { text: 'still there' })).toMatchObject({
      content: [{ text: 'still there' }],
    })
  })

  it('asks the person of the call, and declines if there is none', async () => {
    const ask = vi.fn<Interact['ask']>(async () => '8080')
    const interact = { ask, confirm: async () => true } as unknown as Interact
    expect(await call(extension, 'ship_ask', {}, { interact })).toMatchObject({
      content: [{ text: JSON.stringify({ action: 'accept', content: { port: '8080', sure: true } }) }],
    })
    expect(ask.mock.calls[0]![0]).toBe('The MCP server "ship" asks: Which port?\nport')
    expect(await call(extension, 'ship_ask')).toMatchObject({ content: [{ text: '{"action":"decline"}' }] })
  })

  it('rejects sampling', async () => {
    expect(await call(extension, 'ship_sample')).toMatchObject({ isError: true })
  })
})

it('fails the calls of a crashed server, waits, and restarts it for the next call', async () => {
  let time = 0
  const servers = setup.open({ now: () => time })
  const extension = await connected(servers, resolved({ ship: setup.notedRaw('hang', 'crash', 'echo') }))
  const others = [call(extension, 'ship_hang'), call(extension, 'ship_crash')]
  for (const one of await Promise.allSettled(others)) {
    expect(one).toMatchObject({ status: 'rejected', reason: { code: 'ServerLost', retryable: true } })
  }
  expect(servers.status).toMatchObject([
    {
      state: 'unavailable', tools: 3,
      error: { message: expect.stringContaining('Last line of its standard error: about to sink') },
    },
  ])
  const early = call(extension, 'ship_echo', { text: 'x' })
  await expect(early).rejects.toMatchObject({
    code: 'ServerUnavailable',
    message: expect.stringMatching(
      /^mcp server ship is unavailable: .*about to sink\. The next attempt is possible in 1 s\.$/,
    ),
    data: { retryAfterMs: 1_000 },
  })
  expect(servers.status).toMatchObject([{ restarts: 0 }])
  expect(servers.status[0]!.pid).toBeUndefined()
  time = 1_000
  expect(await call(extension, 'ship_echo', { text: 'again' })).toMatchObject({ content: [{ text: 'again' }] })
  const started = setup.notes.flatMap((line) => /^started (\d+)$/.exec(line)?.[1] ?? []).map(Number)
  expect(started).toHaveLength(2)
  expect(servers.status).toMatchObject([{ restarts: 1, pid: started[1] }])
})

it('waits longer after each failure, up to a minute', LONG, async () => {
  let time = 0
  const cache = join(setup.folder, 'cache')
  const script = setup.raw({ tools: [{ name: 'go' }] })
  // Fails in the shell, because seven starts of Node would take long.
  const config = resolved({ gone: inShell('test -e "$3" && exec "$@"', script) })
  await connected(setup.open({ cache }), config)
  rmSync(join(setup.folder, 'script.json'))
  const servers = setup.open({ now: () => time, cache })
  const [extension] = servers.offer(config).extensions
  const waits: number[] = []
  for (let round = 0; round < 6; round++) {
    const trying = servers.connect(now())
    expect(servers.status).toMatchObject([{ state: 'connecting' }])
    await trying
    // During the wait, a call fails without an attempt.
    const early = await call(extension!, 'gone_go').catch((error: unknown) => error)
    expect(early).toMatchObject({ code: 'ServerUnavailable' })
    waits.push(((early as BulkheadError).data as { retryAfterMs: number }).retryAfterMs)
    time += waits.at(-1)!
  }
  expect(waits).toEqual([1_000, 2_000, 5_000, 15_000, 60_000, 60_000])
})

it('ends a server and its descendants, also one that left the process group', async () => {
  const servers = setup.open()
  const config = resolved({ ship: setup.notedRaw('child', 'echo') })
  const extension = await connected(servers, config)
  const child = async (stray: boolean): Promise<number> => {
    const { content: [{ text }] } = await call(extension, 'ship_child', { stray }) as { content: [{ text: string }] }
    return Number(text)
  }
  const pids = [Number(/started (\d+)/.exec(setup.notes[0]!)![1]), await child(false), await child(true)]
  expect(pids.map(isAlive)).toEqual([true, true, true])
  await servers.close()
  await expect.poll(() => pids.filter(isAlive), { interval: 5 }).toEqual([])
  await expect(call(extension, 'ship_echo', { text: 'x' })).rejects.toMatchObject({ code: 'ServerUnavailable' })
  expect(servers.offer(config)).toEqual({ extensions: [], diagnostics: [] })
})

it('ends a server that the configuration disables', async () => {
  const servers = setup.open()
  const ship = setup.notedRaw('go')
  await connected(servers, resolved({ ship }))
  const server = Number(/started (\d+)/.exec(setup.notes[0]!)![1])
  expect(isAlive(server)).toBe(true)
  expect(servers.offer(resolved({ ship: { ...ship, enabled: false } })).extensions).toEqual([])
  expect(servers.status).toMatchObject([{ name: 'ship', state: 'disabled' }])
  await servers.connect(now())
  await expect.poll(() => isAlive(server), { interval: 5 }).toBe(false)
  expect(setup.notes).toHaveLength(1)
})

it('does not call a tool whose definition has changed', async () => {
  let changes = 0
  const servers = setup.open({ onChange: () => { changes++ } })
  const config = resolved({ ship: setup.sdk() })
  const extension = await connected(servers, config)
  expect(changes).toBe(1)
  await call(extension, 'ship_rewrite')
  await expect.poll(() => changes, { interval: 5 }).toBe(2)
  await expect(call(extension, 'ship_echo', { text: 'x' })).rejects.toMatchObject({
    code: 'ToolDefinitionChanged', data: { server: 'ship', tool: 'echo' },
  })
  expect(await call(extension, 'ship_count')).toMatchObject({ content: [{ text: 'done' }] })
  const [newer] = servers.offer(config).extensions
  expect(newer!.definitions.get('ship_echo')).not.toBe(extension.definitions.get('ship_echo'))
  expect(newer!.definitions.get('ship_count')).toBe(extension.definitions.get('ship_count'))
  expect(newer!.identity).toBe(extension.identity)
  expect(newer!.manifest.version).not.toBe(extension.manifest.version)
  expect(await call(newer!, 'ship_echo', { text: 'x' })).toMatchObject({ content: [{ text: 'x' }] })
})

it('uses the newer handshake if a process rejects the older one', LONG, async () => {
  const local = setup.sdk() as { readonly command: readonly string[] }
  const extension = await connected(
    setup.open(), resolved({ ship: setup.sdk({ command: [...local.command, 'modern'] }) }),
  )
  expect(await call(extension, 'ship_echo', { text: 'ahoy' })).toEqual({ content: [{ type: 'text', text: 'ahoy' }] })
})
