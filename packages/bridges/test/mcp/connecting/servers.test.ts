import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { BulkheadError, ConnectedExtension, Interact } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { McpServers } from '../../../src/mcp/index.ts'
import { Ground, now, resolved } from './ground.ts'

let ground: Ground
beforeEach(() => { ground = new Ground() })
afterEach(() => ground.leave())

/** Calls as a compartment would, with what a runtime has. */
function call(extension: ConnectedExtension, tool: string, args: JsonObject = {}, runtime: object = {}): Promise<JsonObject> {
  const { tools } = extension.module([tool])
  const execute = tools[tool]!.execute as unknown as (args: JsonObject, runtime: object) => Promise<JsonObject>
  return execute(args, { signal: now(), progress: () => undefined, ...runtime })
}

async function connected(servers: McpServers, config = resolved({ ship: ground.library() })): Promise<ConnectedExtension> {
  servers.offer(config)
  await servers.connect(now())
  return servers.offer(config).extensions[0]!
}

/** An ended process that was not waited for yet still has a pid. */
const isAlive = (pid: number): boolean => {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}
const until = (condition: () => boolean): Promise<true> => vi.waitUntil(condition, { timeout: 60_000, interval: 5 })

it('starts nothing by being asked what is offered, and knows it the next time without starting', async () => {
  const cache = join(ground.folder, 'cache')
  const config = resolved({ ship: ground.library() })
  const first = ground.open({ cache })
  expect(first.offer(config).extensions).toEqual([])
  expect(first.status).toMatchObject([{ name: 'ship', state: 'unknown', tools: undefined }])
  expect(ground.notes).toEqual([])
  await first.connect(now())
  expect(first.status).toMatchObject([{ name: 'ship', state: 'connected', tools: 11 }])
  expect(ground.notes).toHaveLength(1)
  expect(readdirSync(cache)).toHaveLength(1)

  const second = ground.open({ cache })
  const [extension] = second.offer(config).extensions
  expect(second.status).toMatchObject([{ state: 'known', tools: 11 }])
  expect(ground.notes).toHaveLength(1)
  expect(extension).toMatchObject({ layer: 'global', server: { kind: 'mcp', name: 'ship' }, manifest: { id: 'mcp-ship', version: expect.stringMatching(/^3\.2\.1\+[0-9a-f]{12}$/) } })
  expect(extension!.manifest.tools[0]).toMatchObject({ name: 'ship_echo', label: 'Echo', description: 'Gives back the text.', gated: true, mode: 'local', idempotent: false })
  expect(await call(extension!, 'ship_echo', { text: 'ahoy' })).toEqual({ content: [{ type: 'text', text: 'ahoy' }] })
  expect(ground.notes).toHaveLength(2)
})

it('gives a process what was named for it and nothing else, in the folder of the workspace', async () => {
  const env = { FIXTURE_TOKEN: 'a-long-enough-secret', OTHER_TOKEN: 'not for it' }
  const extension = await connected(ground.open({ env }), resolved({ ship: ground.library({ env: ['FIXTURE_TOKEN', 'NOT_SET'] }) }))
  const { structuredContent } = await call(extension, 'ship_variables') as { structuredContent: { names: string[]; cwd: string; token: string } }
  expect(structuredContent.names.toSorted()).toEqual(['FIXTURE_TOKEN', 'PATH'])
  expect(structuredContent.cwd).toBe(ground.folder)
  expect(structuredContent.token).toBe('[secret FIXTURE_TOKEN]')
})

it('hands on errors of tools, progress, and what the process says', async () => {
  const servers = ground.open()
  const extension = await connected(servers)
  const said: string[] = []
  const log = { info: (line: string) => said.push(line), debug() {}, warn() {}, error() {} }
  await extension.module([]).init!({ config: {}, log } as never)
  expect(said).toEqual(['ready to serve'])
  expect(await call(extension, 'ship_fail')).toEqual({ content: [{ type: 'text', text: 'no such ship' }], isError: true })
  const progress = vi.fn<(text: string) => void>()
  await call(extension, 'ship_count', {}, { progress })
  expect(progress.mock.calls).toEqual([['half way']])
})

it('tells the server when a call is cancelled, and goes on serving others', async () => {
  const extension = await connected(ground.open())
  const stop = new AbortController()
  const hanging = call(extension, 'ship_hang', {}, { signal: stop.signal })
  await until(() => ground.notes.includes('hanging'))
  stop.abort(new Error('enough'))
  await expect(hanging).rejects.toThrow('enough')
  await until(() => ground.notes.includes('cancelled'))
  expect(await call(extension, 'ship_echo', { text: 'still there' })).toMatchObject({ content: [{ text: 'still there' }] })
})

it('settles what a dying server leaves, rests, and starts it again for the next call', async () => {
  let time = 0
  const servers = ground.open({ now: () => time })
  const extension = await connected(servers)
  const others = [call(extension, 'ship_hang'), call(extension, 'ship_crash')]
  for (const one of await Promise.allSettled(others)) {
    expect(one).toMatchObject({ status: 'rejected', reason: { code: 'ServerLost', retryable: true } })
  }
  expect(servers.status).toMatchObject([{ state: 'unavailable', tools: 11, error: { message: expect.stringContaining('It said last: about to sink') } }])
  const early = call(extension, 'ship_echo', { text: 'x' })
  await expect(early).rejects.toMatchObject({ code: 'ServerUnavailable', message: expect.stringMatching(/^mcp server ship is unavailable: .*about to sink\. It is tried again when it is called in 1 s\.$/), data: { retryAfterMs: 1_000 } })
  time = 1_000
  expect(await call(extension, 'ship_echo', { text: 'again' })).toMatchObject({ content: [{ text: 'again' }] })
  expect(ground.notes.filter((line) => line.startsWith('started'))).toHaveLength(2)
})

it('rests longer each time, up to a minute', async () => {
  let time = 0
  const cache = join(ground.folder, 'cache')
  const script = ground.raw({ tools: [{ name: 'go' }] })
  const config = resolved({ gone: script })
  await connected(ground.open({ cache }), config)
  rmSync(join(ground.folder, 'script.json'))
  const servers = ground.open({ now: () => time, cache })
  const [extension] = servers.offer(config).extensions
  const rests: number[] = []
  for (let round = 0; round < 6; round++) {
    const trying = servers.connect(now())
    expect(servers.status).toMatchObject([{ state: 'connecting' }])
    await trying
    // Asked before its time, it is not tried: it says when.
    const early = await call(extension!, 'gone_go').catch((error: unknown) => error)
    expect(early).toMatchObject({ code: 'ServerUnavailable' })
    rests.push(((early as BulkheadError).data as { retryAfterMs: number }).retryAfterMs)
    time += rests.at(-1)!
  }
  expect(rests).toEqual([1_000, 2_000, 5_000, 15_000, 60_000, 60_000])
})

it.each([false, true])('ends a server with all that it started, also what has left its group and its environment: %s', async (stray) => {
  const servers = ground.open()
  const extension = await connected(servers)
  const { content: [{ text: child }] } = await call(extension, 'ship_child', { stray }) as { content: [{ text: string }] }
  const server = Number(/started (\d+)/.exec(ground.notes[0]!)![1])
  expect([server, Number(child)].map(isAlive)).toEqual([true, true])
  await servers.close()
  await until(() => !isAlive(server) && !isAlive(Number(child)))
  await expect(call(extension, 'ship_echo', { text: 'x' })).rejects.toMatchObject({ code: 'ServerUnavailable' })
  expect(servers.offer(resolved({ ship: ground.library() }))).toEqual({ extensions: [], diagnostics: [] })
})

it('ends what the configuration no longer names, or switches off', async () => {
  const servers = ground.open()
  await connected(servers)
  const server = Number(/started (\d+)/.exec(ground.notes[0]!)![1])
  expect(servers.offer(resolved({ ship: ground.library({ enabled: false }) })).extensions).toEqual([])
  expect(servers.status).toMatchObject([{ name: 'ship', state: 'disabled' }])
  await servers.connect(now())
  await until(() => !isAlive(server))
  expect(ground.notes).toHaveLength(1)
})

it('does not send a call to a tool that is described in other words than those that were offered', async () => {
  let changes = 0
  const servers = ground.open({ onChange: () => { changes++ } })
  const config = resolved({ ship: ground.library() })
  const extension = await connected(servers, config)
  expect(changes).toBe(1)
  await call(extension, 'ship_rewrite')
  await until(() => changes === 2)
  await expect(call(extension, 'ship_echo', { text: 'x' })).rejects.toMatchObject({ code: 'ToolDefinitionChanged', data: { server: 'ship', tool: 'echo' } })
  expect(await call(extension, 'ship_count')).toMatchObject({ content: [{ text: 'done' }] })
  const [newer] = servers.offer(config).extensions
  expect(newer!.definitions.get('ship_echo')).not.toBe(extension.definitions.get('ship_echo'))
  expect(newer!.definitions.get('ship_count')).toBe(extension.definitions.get('ship_count'))
  expect(newer!.identity).toBe(extension.identity)
  expect(newer!.manifest.version).not.toBe(extension.manifest.version)
  expect(await call(newer!, 'ship_echo', { text: 'x' })).toMatchObject({ content: [{ text: 'x' }] })
})

it('asks the user of the call, and declines where there is none', async () => {
  const extension = await connected(ground.open())
  const ask = vi.fn<Interact['ask']>(async () => '8080')
  const interact = { ask, confirm: async () => true } as unknown as Interact
  expect(await call(extension, 'ship_ask', {}, { interact })).toMatchObject({
    content: [{ text: JSON.stringify({ action: 'accept', content: { port: '8080', sure: true } }) }],
  })
  expect(ask.mock.calls[0]![0]).toBe('The MCP server "ship" asks: Which port?\nport')
  expect(await call(extension, 'ship_ask')).toMatchObject({ content: [{ text: '{"action":"decline"}' }] })
})

it('speaks the newer way with a process that refuses the older one', async () => {
  const library = ground.library() as { readonly command: readonly string[] }
  const extension = await connected(ground.open(), resolved({ ship: ground.library({ command: [...library.command, 'modern'] }) }))
  expect(await call(extension, 'ship_echo', { text: 'ahoy' })).toEqual({ content: [{ type: 'text', text: 'ahoy' }] })
})

it('refuses a server that wants to use the model', async () => {
  const extension = await connected(ground.open())
  expect(await call(extension, 'ship_sample')).toMatchObject({ isError: true })
})

it('kills a server that sends a line without an end', async () => {
  const servers = ground.open()
  const extension = await connected(servers, resolved({ ship: ground.raw({ tools: [{ name: 'pour', inputSchema: { type: 'object' } }], flood: true }) }))
  await expect(call(extension, 'ship_pour')).rejects.toMatchObject({
    code: 'MessageTooLarge', message: expect.stringMatching(/A line has more than \d+ bytes\. Call the tool so that it has less to say/),
  })
  expect(servers.status).toMatchObject([{ state: 'unavailable' }])
})

it('says of a server whose list is too long that it is', async () => {
  const servers = ground.open()
  await connected(servers, resolved({ ship: ground.raw({ tools: [{ name: 'go', description: 'x'.repeat(17_000_000) }] }) }))
  expect(servers.status).toMatchObject([{ error: { message: expect.stringMatching(/^mcp server ship is unavailable: it sent too much at once: A line has more than \d+ bytes\.( |$)/) } }])
})

it('gives up on a server that never answers, and leaves nothing of it', async () => {
  const servers = ground.open({ connectMs: 300 })
  servers.offer(resolved({ mute: ground.raw({ tools: [], silent: 'initialize' }), slow: ground.raw({ tools: [], silent: 'tools/list' }, 'slow.json') }))
  await servers.connect(now())
  expect(servers.status).toMatchObject([
    { name: 'mute', state: 'unavailable', error: { message: expect.stringContaining('did not answer within 300 ms') } },
    { name: 'slow', state: 'unavailable', error: { message: expect.stringContaining('did not answer within 300 ms') } },
  ])
})

it('does not wait longer for a server than its caller does', async () => {
  const servers = ground.open({ connectMs: 60_000 })
  const mute = ground.raw({ tools: [], silent: 'initialize' })
  servers.offer(resolved({ mute }))
  const stop = new AbortController()
  const waiting = servers.connect(stop.signal)
  expect(servers.status).toMatchObject([{ state: 'connecting' }])
  stop.abort()
  await waiting
  expect(servers.status).toMatchObject([{ state: 'connecting' }])
  await servers.close()
})

it('reads past what is no message, and makes what a server says of an error visible', async () => {
  const servers = ground.open()
  const extension = await connected(servers, resolved({ ship: ground.raw({ tools: [{ name: 'go' }], noise: ['Listening!', '', '{"half":'] }) }))
  expect(extension.manifest.tools).toMatchObject([{ name: 'ship_go', description: 'MCP tool (no description)', inputSchema: { type: 'object', properties: {} } }])
  expect(extension.manifest.version).toMatch(/^0\.0\.0\+/)
  await expect(call(extension, 'ship_go')).rejects.toMatchObject({ code: 'ToolExecutionFailed', message: expect.stringContaining('\\u{1b}[31mhere') })
})
