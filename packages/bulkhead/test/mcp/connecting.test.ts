// @module-tag walls
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { configFileSchema } from '@bulkhead/contract/validation'
import type { JsonObject } from '@bulkhead/kit/json'
import { expect, it } from 'vitest'
import { has } from '../../../../scripts/machine.ts'
import { LONG } from '../../../../scripts/thoroughly.ts'
import type { Session } from '../../src/index.ts'
import { inside } from '../command-inside.ts'
import {
  configure, environment, folder, home, isAlive, light, names, notes, open, openSession, person, RAW, ship, shipOf,
  unconfined, useServers,
} from './server-setup.ts'

useServers()

it('a server starts with the first session and asks before calls; a bad trust record is reported once', async () => {
  configure({ mcp: { ship: ship() } })
  writeFileSync(join(home, 'trust.jsonl'), 'no line of it\n', { mode: 0o600 })
  const host = await open()
  const reported = () => host.diagnostics.map(({ code }) => code)
  expect([names(host), notes(), reported()]).toEqual([[], [], ['TrustEntryInvalid']])
  const { interactor, shown, approvals } = person('session')
  const session = await openSession(host, { interactor })
  expect(names(host)).toContain('ship_echo')
  expect(reported()).toEqual(['TrustEntryInvalid'])
  expect(host.tool('ship_echo')).toMatchObject({
    executor: 'remote', gated: true, layer: 'global', extension: 'mcp-ship', integrity: 'unpinned',
    server: { name: 'ship' },
  })
  const call = (name: string, args: object = {}) =>
    session.call({ id: crypto.randomUUID(), name, arguments: args as never })
  expect(await call('ship_echo', { text: 'ahoy' })).toMatchObject({
    type: 'output', data: 'ahoy', metadata: { origin: { extension: 'mcp-ship' } },
  })
  expect(shown[0]!.request).toMatchObject({
    approval: { tool: 'ship_echo', origin: expect.stringContaining('MCP server ship of the global configuration: ') },
  })
  expect(await call('ship_echo', { text: 'again' })).toMatchObject({ data: 'again' })
  expect(approvals()).toBe(1)
  expect(await call('ship_echo', { text: 5 })).toMatchObject({ error: { code: 'InputInvalid' } })
  expect(await call('ship_fail')).toMatchObject({
    type: 'error', error_text: 'no such ship', error: { code: 'ToolExecutionFailed' },
  })
  expect(await call('ship_ask')).toMatchObject({ data: '{"action":"accept","content":{"port":"said","sure":true}}' })
  const large = await call('ship_large', { bytes: 300_000 })
  expect(large).toMatchObject({ type: 'output', metadata: { truncated: true, output_path: expect.any(String) } })
})

it('only an unusable tool is reported and omitted; unknown formats and lookaround are accepted', async () => {
  const properties = { mail: { type: 'string', pattern: '^(?!\\.)[^@]+@[^@]+$', maxLength: 20 } }
  const formats = { what: { type: 'string', format: 'regex' }, count: { type: 'integer', format: 'int32' } }
  const tools = [
    { name: 'find', inputSchema: { type: 'object', properties: formats } },
    { name: 'send', inputSchema: { type: 'object', properties } },
    { name: 'loop', inputSchema: { type: 'object', allOf: [{ $ref: '#' }] } },
    { name: 'odd', inputSchema: { type: 'object', properties: { a: { type: 'text' } } } },
    { name: 'slow', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } },
    {
      name: 'both',
      inputSchema: {
        type: 'object', properties: { ab: { type: 'string' } }, patternProperties: { '^a': { type: 'string' } },
      },
    },
  ]
  writeFileSync(join(folder, 'script.json'), JSON.stringify({ tools }))
  configure({ mcp: { ship: { ...ship(), command: [process.execPath, RAW, join(folder, 'script.json')] } } })
  const host = await open()
  const session = await openSession(host, { mode: 'yolo' })
  expect(
    session
      .tools()
      .map(({ name }) => name)
      .filter((name) => name.startsWith('ship_')),
  ).toEqual(['ship_both', 'ship_find', 'ship_send'])
  const faults = host.diagnostics
    .filter(({ extensionId }) => extensionId === 'mcp-ship')
    .map(({ path, message }) => `${path} ${message}`)
  for (const name of ['ship_loop', 'ship_odd', '"slow"'])
    expect(
      faults.filter((line) => line.includes(name)), name,
    ).toHaveLength(1)
  expect(faults.filter((line) => line.includes('ship_find'))).toEqual([])
  expect(host.tool('ship_send')!.inputSchema['properties']).toEqual(properties)
  const call = (name: string, args: JsonObject) => session.call({ id: crypto.randomUUID(), name, arguments: args })
  for (const [name, args] of [
    ['ship_send', { mail: '.x' }], ['ship_find', { what: '(' }], ['ship_find', { count: 2 ** 40 }],
  ] as const) {
    expect(await call(name, args)).toMatchObject({ error_text: expect.stringContaining('it went wrong') })
  }
  expect(await call('ship_send', { mail: 'x'.repeat(21) })).toMatchObject({ error: { code: 'InputInvalid' } })
  expect(await call('ship_find', { count: 'many' })).toMatchObject({ error: { code: 'InputInvalid' } })
})

it('when a server changes its tool, a session asks again, and a turn that began before fails calls of it', async () => {
  configure({ mcp: { ship: ship() } })
  const host = await open()
  const { interactor, approvals } = person('session')
  const session = await openSession(host, { interactor })
  const callIn =
    (from: Session) =>
    (id: string, name: string, args: object = {}) =>
      from.call({ id, name, arguments: args as never })
  const call = callIn(session)
  const inTurn = await host.openSession({ mode: 'yolo' })
  const callInTurn = callIn(inTurn)
  inTurn.beginTurn()
  await call('1', 'ship_echo', { text: 'a' })
  await call('2', 'ship_count')
  await call('3', 'ship_rewrite')
  expect(approvals()).toBe(3)
  await expect.poll(() => host.tool('ship_echo')!.description).toContain('IMPORTANT')
  expect(host.diagnostics).toContainEqual(
    expect.objectContaining({ code: 'TextSuspicious', path: '/tools/ship_echo/description' }),
  )

  expect(await callInTurn('4', 'ship_echo', { text: 'x' })).toMatchObject({ error: { code: 'ToolDefinitionChanged' } })
  expect(await callInTurn('5', 'ship_count')).toMatchObject({ data: 'done' })
  await inTurn.endTurn()
  expect(await callInTurn('6', 'ship_echo', { text: 'x' })).toMatchObject({ data: 'x' })

  expect(await call('7', 'ship_echo', { text: 'b' })).toMatchObject({ data: 'b' })
  expect(approvals()).toBe(4)
  await call('8', 'ship_count')
  expect(approvals()).toBe(4)
})

it('applies deadlines, rules by origin, and the refusal without a user', async () => {
  configure({
    mcp: { ship: { ...ship(), timeoutMs: 1_500 } },
    rules: [{ permission: 'mcp:ship:count', pattern: '*', action: 'deny' }],
  })
  const host = await open()
  const session = await openSession(host)
  const call = (name: string, from = session) => from.call({ id: crypto.randomUUID(), name, arguments: {} })
  expect(await call('ship_count')).toMatchObject({ error: { code: 'RuleDenied' } })
  expect(await call('ship_echo')).toMatchObject({ error: { code: 'InputInvalid' } })
  const yolo = await host.openSession({ mode: 'yolo' })
  // The deadline covers the first start, and the request must be sent.
  await yolo.call({ id: 'warm', name: 'ship_echo', arguments: { text: 'x' } }, { timeoutMs: 60_000 })
  expect(await call('ship_hang', yolo)).toMatchObject({ error: { code: 'ExecutionTimeout' } })
  await expect.poll(notes).toContain('cancelled')
  expect(await call('ship_variables')).toMatchObject({ error: { code: 'ApprovalDenied' } })
})

it('a server outside a jail is marked, reconnects after a crash, and is gone once disabled', LONG, async () => {
  const far = { type: 'remote' as const, url: 'http://127.0.0.1:9/mcp' }
  const near = { ...light('echo', 'crash'), jail: false }
  configure({ mcp: { ship: near, far } })
  const host = await open()
  const { interactor, shown } = person('once')
  const asking = await openSession(host, { interactor })
  await asking.call({ id: '1', name: 'ship_echo', arguments: { text: 'x' } })
  expect(shown[0]!.request).toMatchObject({
    approval: { mayTouch: expect.arrayContaining([expect.stringContaining('not confined')]) },
  })
  expect(host.tool('ship_echo')).toMatchObject({ server: { unconfined: true } })
  const listed = (await inside(['tools', '--home', home], folder)).stdout
  expect(listed).toMatch(/ship_echo .*not confined/)
  expect(listed).toMatch(/^ship +local, not confined +/m)
  expect(listed).toMatch(/^far +remote +/m)
  expect((await inside(['tools', '--powers', '--home', home], folder)).stdout).toMatch(/^not confined: .*ship_echo/m)

  const session = await host.openSession({ mode: 'yolo' })
  const call = (name: string, args: object = {}) =>
    session.call({ id: crypto.randomUUID(), name, arguments: args as never })
  expect(await call('ship_crash')).toMatchObject({ error: { code: 'ServerLost' } })
  expect(await call('ship_echo', { text: 'x' })).toMatchObject({
    error: { code: 'ServerUnavailable' }, error_text: expect.stringContaining('mcp server ship is unavailable'),
  })
  expect(names(host)).toContain('ship_echo')
  expect(shipOf(host)).toMatchObject({ state: 'unavailable', tools: 2 })
  await expect.poll(() => call('ship_echo', { text: 'back' }), { interval: 200 }).toMatchObject({ type: 'output' })
  configure({ mcp: { ship: { ...near, enabled: false }, far } })
  await host.reload()
  expect([names(host), shipOf(host)]).toMatchObject([[], { state: 'disabled' }])
  const pids = notes().map((line) => Number(/started (\d+)/.exec(line)![1]))
  expect(pids).toHaveLength(2)
  await expect.poll(() => pids.filter(isAlive)).toEqual([])
})

it('ignores servers of an untrusted project, and connects on demand after trust', async () => {
  configure({ mcp: { ship: light('echo') } }, join(folder, '.bulkhead'))
  const untrusted = await open({ trust: 'declined' })
  await (await untrusted.openSession()).close()
  await untrusted.mcp.connect()
  expect([untrusted.mcp.servers(), notes()]).toEqual([[], []])
  const trusted = await open({ trust: 'once', discover: 'when-asked' })
  await trusted.openSession()
  expect(trusted.mcp.servers()).toMatchObject([{ name: 'ship', layer: 'project', state: 'unknown' }])
  expect(notes()).toEqual([])
  expect(await trusted.mcp.connect(['ship'])).toMatchObject([{ state: 'connected', tools: 1 }])
  expect(trusted.tool('ship_echo')).toMatchObject({ layer: 'project' })
})

it('is not used if it exceeds the ceiling', async () => {
  configure({ mcp: { ship: ship() }, policy: { ceiling: { fs: { read: ['{workspace}/**'] } } } })
  const host = await open()
  await host.mcp.connect()
  expect([names(host), notes(), host.mcp.servers()]).toEqual([[], [], []])
  expect(host.diagnostics).toContainEqual(expect.objectContaining({ code: 'CapabilityDenied', path: '/mcp/ship' }))
})

it('a list of tools starts no server without --connect, and remembers the tools', async () => {
  configure({ mcp: { ship: light('echo'), off: { ...unconfined(), enabled: false } } })
  const run = (...args: string[]) => inside(args, folder, environment())
  const before = await run('tools')
  expect(before.code).toBe(0)
  expect(before.stdout).not.toContain('ship_echo')
  expect(before.stdout).toMatch(
    has('bubblewrap') ? /ship +local +global +unknown +- / : /ship +local, not confined +global +unknown +- /,
  )
  expect(before.stdout).toMatch(/off +local, not confined +global +disabled/)
  expect((await run('call', 'read', '--args', '{"path":"notes"}')).code).toBe(1)
  expect(notes()).toEqual([])
  expect((await run('tools', '--connect')).stdout).toMatch(/ship_echo +global +mcp server ship /)
  expect(notes()).toHaveLength(1)
  const after = JSON.parse((await run('tools', '--json')).stdout) as { servers: unknown; tools: { name: string }[] }
  expect(after.servers).toMatchObject([{ name: 'off', state: 'disabled' }, { name: 'ship', state: 'known', tools: 1 }])
  expect(after.tools.map(({ name }) => name)).toContain('ship_echo')
  expect((await run('explain', 'ship_echo', '--args', '{"text":"x"}')).stdout).toContain(
    '"ship_echo" is the tool of mcp-ship',
  )
  expect(notes()).toHaveLength(1)
  const called = await run('call', 'ship_echo', '--args', '{"text":"ahoy"}', '--mode', 'yolo')
  expect([called.code, called.stdout]).toEqual([0, 'ahoy\n'])
  expect(notes()).toHaveLength(2)
})

it('calls a tool of a server that was never listed', LONG, async () => {
  configure({ mcp: { ship: light('echo'), other: ship() } })
  const called = await inside(
    ['call', 'mcp:ship.echo', '--args', '{"text":"ahoy"}', '--mode', 'yolo'], folder, environment(),
  )
  expect([called.code, called.stdout]).toEqual([0, 'ahoy\n'])
  expect(notes()).toHaveLength(1)
})

it('a session keeps the servers of its folder after a switch, and they end with it', LONG, async () => {
  configure({ mcp: { ship: unconfined() } })
  const host = await open()
  const session = await openSession(host, { mode: 'yolo' })
  const other = join(folder, 'other')
  mkdirSync(other)
  const { unloaded } = await host.switchWorkspace(other)
  const variables = async (from: typeof session) => {
    const outcome = await from.call({ id: crypto.randomUUID(), name: 'ship_variables', arguments: {} })
    return outcome.type === 'output' ? (outcome.data as { cwd: string }).cwd : outcome.error.code
  }
  expect(await variables(session)).toBe(folder)
  // The tools are known, so no server starts for the other folder before a call.
  expect(host.mcp.servers()).toMatchObject([{ state: 'known', tools: 11 }])
  expect(await variables(await host.openSession({ mode: 'yolo' }))).toBe(other)
  await session.close()
  await unloaded
  const [first, second] = notes().map((line) => Number(/started (\d+)/.exec(line)![1]))
  await expect.poll(() => isAlive(first!)).toBe(false)
  expect(isAlive(second!)).toBe(true)
})

it('the example of the page is a valid configuration', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/guides/mcp.md'), 'utf8')
  const [, example] = /^```json\n(\{\n {2}"mcp"[\s\S]*?)^```/m.exec(page)!
  expect(Object.keys(configFileSchema.parse(JSON.parse(example!)).mcp!)).toEqual(['files', 'harbour'])
})
