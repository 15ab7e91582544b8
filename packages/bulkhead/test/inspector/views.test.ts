import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { listen } from '@bulkhead/inspector'
import type {
  CallDetail, CallsView, HealthView, InstallPreview, MadeCall, PolicyView, ToolInput, ToolsView, TriedCall, WaitingView,
} from '@bulkhead/inspector/protocol'
import { expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { createInspector } from '../../src/index.ts'
import { packGreeter } from '../greeter.ts'
import { signIn, until } from './client.ts'
import { writeOverboard, writeServer } from './overboard.ts'
import { openWorld } from './world.ts'

it('shows every tool with what it adds, and switches it off for one session and its sub-agents', async () => {
  await using world = await openWorld({ decide: true })
  const client = await world.client()
  const session = await world.host.openSession()
  const { tools, tokens } = await client.get<ToolsView>(`tools?session=${session.id}`)
  const bash = tools.find(({ name }) => name === 'bash')!
  expect(bash).toMatchObject({ layer: 'bundled', on: true, integrity: 'bundled', adds: expect.any(Array) })
  expect([tokens > bash.tokens, bash.tokens > 10]).toEqual([true, true])
  const after = await client.post<ToolsView>('tools/greet', { session: session.id, on: false })
  expect(after.tools.find(({ name }) => name === 'greet'))
    .toMatchObject({ on: false, off: expect.stringMatching('switched off') })
  const call = { id: 'c1', name: 'greet', arguments: {} }
  const subagent = await session.openSubagent()
  const other = await world.host.openSession()
  expect(await session.call(call)).toMatchObject({ error: { code: 'ToolsDisabled' } })
  expect(await subagent.call(call)).toMatchObject({ error: { code: 'ToolsDisabled' } })
  expect(await other.call(call)).toMatchObject({ type: 'output' })
  await client.post('tools/greet', { session: session.id, on: true })
  expect(await session.call({ ...call, id: 'c2' })).toMatchObject({ type: 'output' })
})

it('calls a tool for a person, under the policy of the session, and says which argument is wrong', async () => {
  await using world = await openWorld({ decide: true })
  const client = await world.client()
  const { schema } = await client.get<ToolInput>('tools/order')
  expect(schema).toMatchObject({ properties: { what: { type: 'string' } } })
  const make = (body: object) => client.post<MadeCall>('calls', body)
  expect(await make({ tool: 'greet', arguments: { name: 'Ada' }, call: 'mine' }))
    .toMatchObject({ succeeded: true, id: expect.stringMatching(/\/mine$/), outcome: expect.stringMatching('Ada') })
  expect(await make({ tool: 'order', arguments: { what: 7 } })).toMatchObject({ wrong: { path: '/what' } })
  expect(await make({ tool: 'greet', arguments: { nome: 'x' } })).toMatchObject({ wrong: { path: '/nome' } })
  await expect(make({ tool: 'greet', call: 'a b' })).rejects.toMatchObject({ code: 'InputInvalid' })
  await expect(make({ tool: 'greet', arguments: {}, session: 'other' })).rejects.toMatchObject({ code: 'NotFound' })
  // Nobody is there to be asked.
  const session = await world.host.openSession()
  expect(await make({ tool: 'order', arguments: { what: 'tea' }, session: session.id }))
    .toMatchObject({ succeeded: false, outcome: expect.stringMatching('ApprovalDenied|InteractionUnavailable') })
  // In a session of its own, the people on the page are.
  const asked = make({ tool: 'order', arguments: { what: 'milk' } })
  const { items: [item] } = await expect.poll(() => client.get<WaitingView>('waiting'))
    .toMatchObject({ items: [{ tool: 'order' }] }).then(() => client.get<WaitingView>('waiting'))
  const { id, digest } = item!
  await client.post(`waiting/${encodeURIComponent(id)}`, { do: 'allow', digest, answer: 'once-call' })
  expect(await asked).toMatchObject({ succeeded: true, outcome: expect.stringMatching('milk') })
  await using reader = await openWorld()
  const refused = (await reader.client()).post('calls', { tool: 'greet', arguments: {} })
  await expect(refused).rejects.toMatchObject({ code: 'ReadOnly' })
})

it('offers the smallest rule that would have avoided a question, and one a step wider', async () => {
  const rules = [{ permission: 'write', pattern: 'src/never', action: 'deny' as const }]
  await using world = await openWorld({ stored: true, host: { config: { audit: { arguments: true }, rules } } })
  const session = await world.host.openSession({
    approver: {
      approve: async (asked) => ({ decision: JSON.stringify(asked).includes('src/no') ? 'reject' : 'once' }),
    },
  })
  const calls = [
    ...['src/a', 'src/b', 'src/no', 'src/never', 'top'].map((path) => ['write', { path, content: '' }] as const),
    ['order', { what: 'tea' }] as const,
  ]
  for (const [index, [name, args]] of calls.entries()) await session.call({ id: `c${index}`, name, arguments: args })
  await world.host.flush()
  const { questions } = await (await world.client()).get<PolicyView>('policy')
  const rule = (permission: string, pattern: string) => ({ permission, pattern, action: 'allow' })
  const bySubject = new Map(questions.map((one) => [one.subject, one]))
  expect(bySubject.get('src/a')).toMatchObject({
    rule: rule('write', 'src/a'),
    wider: {
      rule: rule('write', 'src/**'), times: 3, alsoAllows: ['every call of write for src and everything in it'],
      // By the recorded arguments: what a rule denies stays denied.
      others: { asked: 1, denied: 1, examples: ['src/b', 'src/no'], byKey: 0 },
    },
    others: { asked: 0, denied: 0, examples: [], byKey: 0 },
  })
  expect(['top', 'order'].map((subject) => bySubject.get(subject)?.wider)).toEqual([undefined, undefined])
})

it('shows rules with hits and what keeps them from deciding, and tries a call', async () => {
  const rules = [
    { permission: 'order', pattern: '*', action: 'deny' as const },
    { permission: 'order', pattern: 'tea', action: 'allow' as const },
  ]
  await using world = await openWorld({ stored: true, host: { config: { rules } } })
  const session = await world.host.openSession()
  expect(await session.call({ id: 'c', name: 'order', arguments: { what: 'x' } })).toMatchObject({ type: 'error' })
  const client = await world.client()
  const { rules: shown, headline, findings } = await client.get<PolicyView>('policy')
  expect(shown.map(({ permission, action, hits }) => [permission, action, hits]))
    .toEqual([['order', 'deny', 1], ['order', 'allow', 0]])
  expect(headline).toMatchObject({ calls: 1, questions: 0, span: 'the last 30 days' })
  expect(findings).toMatchObject([{ kind: 'cannot win', words: expect.stringMatching('never decides') }])
  const tried = (tool: string) => client.post<TriedCall>('policy/try', { tool, arguments: {} })
  expect(await tried('greet')).toMatchObject({ decision: 'allow' })
  expect(await tried('nothing')).toMatchObject({ decision: 'deny', code: 'ToolNotRegistered' })
})

it('shows the health of host and compartments: memory, processor time, restarts and walls', LONG, async () => {
  await using world = await openWorld({ stored: true, host: { trust: 'once' } })
  writeOverboard(world.folder)
  await world.host.reload()
  const session = await world.host.openSession()
  const call = (name: string) => session.call({ id: crypto.randomUUID(), name, arguments: {} })
  expect(await call('overboard')).toMatchObject({ error: { code: 'CompartmentCrashed' } })
  await expect.poll(async () => (await call('afloat')).type, { timeout: 10_000 }).toBe('output')
  const client = await world.client()
  const { items } = await client.get<CallsView>('calls?tool=overboard')
  const { spans } = await client.get<CallDetail>(`calls/${items[0]!.id}`)
  expect(spans.map(({ kind }) => kind)).toContain('start')
  const { hosts: [host, ...others], series, processes } = await client.get<HealthView>('health')
  expect([host, others.length]).toMatchObject([{ here: true, state: 'live', pid: process.pid }, 0])
  expect(host!.restarts).toBeGreaterThan(0)
  expect(host!.memoryBytes).toBeGreaterThan(1_000_000)
  expect(series.calls).toHaveLength(120)
  const one = processes.find(({ extension }) => extension === 'overboard')!
  const { restarts } = host!
  expect(one).toMatchObject({ placement: 'process', state: 'active', restarts, pid: expect.any(Number) })
  expect([one.pid !== process.pid, one.memoryBytes! > 10_000_000]).toEqual([true, true])
  const { hosts: [again] } = await client.get<HealthView>('health')
  expect(again!.cpuShare === undefined || again!.cpuShare >= 0).toBe(true)
})

it('shows a host that joined the store again as this one, and not the place that it lost', async () => {
  await using world = await openWorld({ stored: true })
  const session = await world.host.openSession()
  await session.call({ id: 'c', name: 'greet', arguments: {} })
  const client = await world.client()
  const { hosts: [host] } = await client.get<HealthView>('health')
  using database = new DatabaseSync(join(world.folder, 'host.db'))
  database.exec('DELETE FROM host')
  const shown = async () => (await client.get<HealthView>('health')).hosts
  await expect.poll(shown).toMatchObject([{ id: `${host!.id}.1`, here: true }])
})

it('checks the chain of the audit, and says where it is broken', async () => {
  await using world = await openWorld({ stored: true })
  const session = await world.host.openSession()
  await session.call({ id: 'c', name: 'greet', arguments: {} })
  await world.host.flush()
  const { audit } = await (await world.client()).get<HealthView>('health')
  expect(audit).toMatchObject({ status: 'checked', chains: [{ first: 1, checked: { at: expect.any(Number) } }] })
  expect(audit.chains[0]!.checked!.last).toBeGreaterThan(1)
  using database = new DatabaseSync(join(world.folder, 'host.db'))
  database.exec('UPDATE audit SET record = replace(record, \'greet\', \'great\')')
  // Another inspector, which has checked nothing yet.
  const inspector = await createInspector(world.host)
  const listening = await listen((request) => inspector.fetch(request), { port: 0 })
  const { audit: changed } = await (await signIn(inspector.link(listening.url))).get<HealthView>('health')
  expect(changed).toMatchObject({ status: 'broken', chains: [{ broken: { position: expect.any(Number) } }] })
  inspector.close()
  await listening.close()
})

it('shows the messages of a server in both directions, and to each reader how its connection began', LONG, async () => {
  await using world = await openWorld({ host: { trust: 'once' } })
  writeServer(world.folder)
  await world.host.reload()
  await world.host.mcp.connect()
  const client = await world.client()
  for (const reader of ['first', 'second']) {
    const { frames } = await until(client.events('frames:ship'), 'frames')
    const [asked, answered] = frames.map(({ seq, direction, text }) =>
      ({ seq, direction, ...JSON.parse(text) as object }))
    expect(asked).toMatchObject({ seq: 1, direction: 'out', method: 'initialize' })
    expect({ reader, answered }).toMatchObject({ answered: { seq: 2, direction: 'in', result: { serverInfo: {} } } })
  }
})

it('previews what a package would add, and installs nothing', LONG, async () => {
  await using world = await openWorld({ decide: true })
  const file = join(world.folder, 'greeter.tgz')
  writeFileSync(file, await packGreeter(world.folder, '1.0.0', ['api.acme.example']))
  const client = await world.client()
  const preview = await client.post<InstallPreview>('install-preview', { source: file })
  const tools = [{ name: 'greet', shadows: [expect.any(String)] }]
  expect(preview).toMatchObject({ extension: 'greeter', version: '1.0.0', tools })
  expect(preview.adds).toEqual([expect.stringContaining('api.acme.example')])
  expect(world.host.extensions().some(({ id }) => id === 'greeter')).toBe(false)
  const missing = client.post('install-preview', { source: join(world.folder, 'none.tgz') })
  await expect(missing).rejects.toMatchObject({ code: 'Failed' })
  await using reader = await openWorld()
  const refused = (await reader.client()).post('install-preview', { source: file })
  await expect(refused).rejects.toMatchObject({ code: 'ReadOnly' })
})
