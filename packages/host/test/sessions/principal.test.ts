import type { BulkheadEvent, Principal } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { describe, expect, test } from 'vitest'
import type { HookContext, CallView } from '../../src/index.ts'
import { ScriptedApprover, ScriptedInteractor } from '../twin/people.ts'
import { MemoryStore } from '../twin/store.ts'
import { agreeable, createWorld, verdictOf, type WorldSketch } from '../twin/world.ts'

const ADA: Principal = { id: 'ada', attributes: { team: 'ships' } }
const BOB: Principal = { id: 'bob' }
const CALL = { id: 'c', name: 'echo', arguments: {} }

/** Opens a session of each principal, with a person who gives one answer. */
async function opened(sketch: WorldSketch, decision: 'once' | 'session' | 'project' = 'project') {
  const world = createWorld(sketch)
  const open = async (principal?: Principal) => {
    const approver = new ScriptedApprover(decision)
    const session = await world.host.openSession({ approver, ...(principal && { principal }) })
    return { session, approver, asks: async () => {
      const { length } = approver.asked
      await session.call(CALL)
      return approver.asked.length > length
    } }
  }
  return { world, open }
}

describe('approvals of a principal', () => {
  test('answer no call of another, and none of a session without one', async () => {
    const store = new MemoryStore()
    const { world, open } = await opened({ store })
    expect([await (await open(ADA)).asks(), await (await open(ADA)).asks()]).toEqual([true, false])
    expect([await (await open(BOB)).asks(), await (await open()).asks(), await (await open()).asks()]).toEqual([
      true, true, false,
    ])
    const listed = await world.host.approvals.list()
    expect(listed.map(({ principal }) => principal)).toEqual(expect.arrayContaining(['ada', 'bob', undefined]))
    expect(new Set(listed.map(({ id }) => id)).size).toBe(3)
    expect(await world.host.approvals.list({ principal: 'ada' })).toMatchObject([{ principal: 'ada' }])
    expect((await open(BOB)).session.approvals()).toMatchObject([{ principal: 'bob' }])
    // Another host reads them from the store.
    await world.host.flush()
    const later = await opened({ store })
    expect([await (await later.open(ADA)).asks(), await (await later.open({ id: 'eve' })).asks()]).toEqual([
      false, true,
    ])
  })

  test('of a sub-agent are those of its parent', async () => {
    const { open } = await opened({})
    const { session, approver } = await open(ADA)
    const child = await session.openSubagent()
    await child.call(CALL)
    expect(approver.asked).toMatchObject([{ principal: ADA, sessionId: child.id }])
    expect(session.approvals()).toMatchObject([{ principal: 'ada' }])
    await expect(session.openSubagent({ principal: BOB } as object)).rejects.toMatchObject({ code: 'ConfigInvalid' })
  })
})

test('questions, hooks, guards and events name the principal', async () => {
  const { world } = await opened({})
  const seen: (HookContext | CallView)[] = []
  const interactor = new ScriptedInteractor(() => ({ status: 'accepted', value: { decision: 'session' } }))
  const session = await world.host.openSession({
    principal: ADA, interactor, guards: [(view) => { seen.push(view); return { action: 'allow' } }],
    hooks: { onBeforeTool: (context) => { seen.push(context) }, beforeToolExecution: (view) => { seen.push(view) } },
  })
  await session.call(CALL)
  expect(interactor.asked).toMatchObject([{
    sessionId: session.id, principal: ADA, request: { approval: { sessionId: session.id, principal: ADA } },
  }])
  expect(seen.map(({ principal }) => principal)).toEqual([ADA, ADA, ADA])
  const named = world.events.filter((event): event is BulkheadEvent & { principal: string } => 'principal' in event)
  expect(named.map(({ type }) => type)).toEqual(
    expect.arrayContaining([
      'SessionOpened', 'ToolInvocationProposed', 'ToolInvocationDecided', 'ToolInvocationStarted',
      'ToolInvocationSucceeded', 'ApprovalGranted',
    ]),
  )
  expect(new Set(named.map(({ principal }) => principal))).toEqual(new Set(['ada']))
  expect(JSON.stringify(world.events)).not.toContain('ships')
})

test('the audit names the principal of each call', async () => {
  const store = new MemoryStore()
  const { world, open } = await opened({ store, config: { audit: {} } }, 'once')
  for (const principal of [ADA, undefined]) await (await open(principal)).session.call(CALL)
  await world.host.flush()
  const records = (await store.records(1, 100)).map(({ record }) => record as { readonly [name: string]: Json })
  const decided = records.filter(({ type }) => type === 'ToolInvocationDecided' || type === 'ToolInvocationSucceeded')
  expect(decided.map(({ principal }) => principal)).toEqual(['ada', 'ada', undefined, undefined])
})

test('the state of an extension is kept for each principal', async () => {
  const tools: NonNullable<WorldSketch['extensions']>[number]['tools'] = {
    echo: { execute: async (_, { services, callId }) => {
      const count = Number(await services.state!.read(callId) ?? 0) + 1
      await services.state!.write(count, callId)
      return { count }
    } },
  }
  const stateSlot = { slotVersion: '1', schema: { type: 'integer' } } as const
  const { host } = createWorld({ extensions: [{ stateSlot, tools }] })
  const count = async (principal?: Principal) => {
    const outcome = await (await host.openSession({ ...agreeable, ...(principal && { principal }) })).call(CALL)
    return outcome.type === 'output' ? outcome.data : outcome.error_text
  }
  expect([await count(ADA), await count(ADA), await count(BOB), await count(), await count(ADA)])
    .toEqual([1, 2, 1, 1, 3].map((value) => ({ count: value })))
})

test('a paused call continues in a session of its principal only', async () => {
  const asking = {
    echo: {
      requires: { capabilities: ['interact' as const] },
      execute: async (_: unknown, { services, callId, signal }: never) =>
        (services as { interact: (id: string, request: object, signal: AbortSignal) => Promise<Json> }).interact(
          callId, { kind: 'Ask', prompt: 'Which?' }, signal,
        ),
    },
  }
  const { host } = createWorld({ extensions: [{ tools: asking as never }] })
  const open = (principal?: Principal) =>
    host.openSession({ ...agreeable, pause: true, ...(principal && { principal }) })
  expect(verdictOf(await (await open(ADA)).call(CALL))).toBe('ClarificationNeeded')
  const [paused] = await host.pausedCalls()
  expect(paused).toMatchObject({ principal: 'ada' })
  for (const other of [BOB, undefined]) {
    await expect((await open(other)).resume(paused!.id, 'a')).rejects.toMatchObject({ code: 'NotFound' })
  }
  expect(verdictOf(await (await open(ADA)).resume(paused!.id, 'a'))).toBe('output')
})

test('open sessions of a principal share the budget of the configuration', async () => {
  const { host } = createWorld({ config: { budget: { calls: 2 } } })
  const open = (principal?: Principal) => host.openSession({ ...agreeable, ...(principal && { principal }) })
  const call = async (session: Awaited<ReturnType<typeof open>>) => verdictOf(await session.call(CALL))
  const [one, two, other, none] = [await open(ADA), await open(ADA), await open(BOB), await open()]
  expect([await call(one), await call(two), await call(two), await call(one)])
    .toEqual(['output', 'output', 'BudgetExhausted', 'BudgetExhausted'])
  expect([await call(other), await call(none), await call(none)]).toEqual(['output', 'output', 'output'])
  await Promise.all([one.close(), two.close()])
  expect(await call(await open(ADA))).toBe('output')
})

test.each<[string, unknown]>([
  ['no id', {}], ['an empty id', { id: '' }], ['an id with a control character', { id: 'a\nb' }],
  ['an id that looks like another', { id: 'ada\u200b' }], ['a space at its end', { id: 'ada ' }],
  ['a long id', { id: 'a'.repeat(201) }], ['attributes that are no object', { id: 'a', attributes: [] }],
  ['attributes that are no JSON', { id: 'a', attributes: { at: () => 1 } }],
  ['long attributes', { id: 'a', attributes: { x: 'x'.repeat(20_000) } }], ['another member', { id: 'a', name: 'b' }],
  ['a string', 'ada'],
])('a principal with %s is refused', async (_, principal) => {
  await expect(createWorld().host.openSession({ principal: principal as Principal })).rejects.toMatchObject({
    code: 'ConfigInvalid',
  })
})

test('a call that is over gets no state', async () => {
  let late: (() => Promise<Json>) | undefined
  const tools: NonNullable<WorldSketch['extensions']>[number]['tools'] = {
    echo: { execute: async (_, { services, callId }) => {
      late = () => services.state!.read(callId)
      return services.state!.write(1, callId)
    } },
  }
  const { host } = createWorld({
    extensions: [{ stateSlot: { slotVersion: '1', schema: { type: 'integer' } }, tools }],
  })
  await (await host.openSession({ ...agreeable, principal: ADA })).call(CALL)
  await expect(late!()).rejects.toMatchObject({ code: 'CapabilityDenied' })
})
