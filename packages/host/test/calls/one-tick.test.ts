/** What `call()` settles before it returns, and the order of calls that are made in one tick. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Rule } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, test } from 'vitest'
import type { SessionOptions } from '../../src/index.ts'
import { ScriptedApprover } from '../twin/people.ts'
import { flush } from '../twin/clock.ts'
import { loggedStore } from '../twin/logged-work.ts'
import { createWorld, verdictOf, type ToolSketch, type WorldSketch } from '../twin/world.ts'

describe('before call() returns', () => {
  test('id, name and arguments are read once, and later changes have no effect', async () => {
    const { host } = createWorld({ repeatsIds: false })
    const session = await host.openSession({ mode: 'yolo' })
    const reads: string[] = []
    const args: JsonObject & { n?: number } = { n: 1 }
    const call = {
      get id() { reads.push('id'); return 'c1' },
      get name() { reads.push('name'); return 'echo' },
      get arguments() { reads.push('arguments'); return args },
    }
    const pending = session.call(call)
    expect(reads.toSorted()).toEqual(['arguments', 'id', 'name'])
    Object.assign(args, { n: 2, more: true })
    expect(await pending).toMatchObject({ data: { n: 1 }, metadata: { call_id: 'c1' } })
    expect(reads).toHaveLength(3)
  })

  test('the call belongs to the turn: ending the turn waits for it', async () => {
    const answer = Promise.withResolvers<string>()
    const { host, eventsOf } = createWorld({ extensions: [{ tools: { echo: { execute: () => answer.promise } } }] })
    const session = await host.openSession({ mode: 'yolo' })
    session.beginTurn()
    const pending = session.call({ id: 'c1', name: 'echo', arguments: {} })
    const ending = session.endTurn()
    await flush()
    expect(eventsOf('TurnEnded')).toEqual([])
    answer.resolve('done')
    expect(verdictOf(await pending)).toBe('output')
    await ending
    expect(eventsOf('TurnEnded')).toHaveLength(1)
  })

  test.each<[string, string]>([
    ['ToolCancelled', 'signal'], ['TurnCancelled', 'turn'], ['SessionCancelled', 'session'],
    ['SessionCancelled', 'close'],
  ])('the call can be cancelled: it ends with %s by its %s, and never runs', async (code, by) => {
    let ran = 0
    const { host } = createWorld({ extensions: [{ tools: { echo: { execute: () => ++ran } } }] })
    const session = await host.openSession({ mode: 'yolo' })
    await session.call({ id: 'c0', name: 'echo', arguments: {} })
    const turn = session.beginTurn()
    const cancel = new AbortController()
    const pending = session.call({ id: 'c1', name: 'echo', arguments: {} }, { signal: cancel.signal })
    if (by === 'signal') cancel.abort()
    else if (by === 'turn') turn.cancel()
    else if (by === 'session') session.cancel()
    else void session.close()
    expect(verdictOf(await pending)).toBe(code)
    await flush()
    expect(ran).toBe(1)
  })

  test('the call is bound to its tool: a reload does not give it another version', async () => {
    const version = (text: string) => ({ version: text, tools: { echo: { execute: () => text } } })
    const world = createWorld({ extensions: [version('1.0.0')] })
    const session = await world.host.openSession({ mode: 'yolo' })
    const pending = session.call({ id: 'c1', name: 'echo', arguments: {} })
    world.find({ extensions: [version('2.0.0')] })
    const reloading = world.host.reload()
    expect(await pending).toMatchObject({ data: '1.0.0', metadata: { origin: { version: '1.0.0' } } })
    await reloading
    expect(await session.call({ id: 'c2', name: 'echo', arguments: {} })).toMatchObject({ data: '2.0.0' })
  })
})

describe('calls of one tick', () => {
  const GATED: ToolSketch = { requires: { net: { hosts: ['example.com'] } } }
  /**
   * Tools that need different steps before they run: a rule, a guard, an approval, a key from a template or from code.
   */
  const TOOLS: Readonly<Record<string, ToolSketch>> = {
    free: { gated: false }, guarded: GATED, keyed: { ...GATED, approvalKey: '{n}' },
    derived: { deriveApprovalKey: () => 'all' }, ruled: GATED,
  }
  const rules: readonly Rule[] = [{ permission: 'ruled', pattern: '*', action: 'allow' }]
  const NAMES = ['guarded', 'free', 'keyed', 'ruled', 'guarded', 'free', 'ruled', 'keyed', 'free']
  const calls = NAMES.map((name, n) => ({ id: `c${n}`, name, arguments: { n: String(n) } }))
  const ids = calls.map(({ id }) => id)

  async function openWorld(options: SessionOptions, sketch: WorldSketch = {}) {
    const world = createWorld({ extensions: [{ tools: TOOLS }], ...sketch })
    const session = await world.host.openSession({ rules, ...options })
    // Every extension runs from here on.
    await session.call({ id: 'warm', name: 'free', arguments: {} })
    const sent = world.compartment().calls.length
    return {
      ...world, session,
      idsOf: (type: 'ToolInvocationProposed' | 'ToolInvocationDecided' | 'ToolInvocationStarted') =>
        world.eventsOf(type).map(({ callId }) => callId).filter((id) => id !== 'warm'),
      dispatched: () => world.compartment().calls.slice(sent).map(({ args }) => `c${String(args['n'])}`),
    }
  }

  test.each<[string, SessionOptions]>([
    ['that run unasked', { mode: 'yolo' }],
    ['with a guard and a watchdog', { mode: 'yolo', guards: [() => {}], watchdog: [() => {}] }],
    ['with hooks', { mode: 'yolo', hooks: [{ beforeToolExecution: () => true }, { beforeToolExecution: () => {} }] }],
  ])('%s keep their order in events and dispatch', async (_case, options) => {
    const { session, idsOf, dispatched } = await openWorld(options)
    const outcomes = await Promise.all(calls.map((call) => session.call(call)))
    expect(new Set(outcomes.map(verdictOf))).toEqual(new Set(['output']))
    expect(idsOf('ToolInvocationProposed')).toEqual(ids)
    expect(idsOf('ToolInvocationDecided')).toEqual(ids)
    expect(idsOf('ToolInvocationStarted')).toEqual(ids)
    expect(dispatched()).toEqual(ids)
  })

  test('of several sessions keep their order, with any hooks, guards and watchdogs', async () => {
    const { host, session: plain, idsOf, dispatched } = await openWorld({ mode: 'yolo' })
    const hooks = [{ beforeToolExecution: () => true }, { beforeToolExecution: () => true }]
    const strict = await host.openSession({
      mode: 'yolo', rules, hooks, guards: [() => {}], watchdog: [() => {}, () => {}],
    })
    await Promise.all(calls.map((call, n) => (n % 2 === 0 ? strict : plain).call(call)))
    expect(idsOf('ToolInvocationDecided')).toEqual(ids)
    expect(idsOf('ToolInvocationStarted')).toEqual(ids)
    expect(dispatched()).toEqual(ids)
  })

  test('keep their order with and without approvals', async () => {
    const { session, dispatched } = await openWorld({ mode: 'ask', approver: new ScriptedApprover('session') })
    for (const name of ['guarded', 'keyed']) {
      for (const n of calls.keys()) await session.call({ id: `before ${name} ${n}`, name, arguments: { n: String(n) } })
    }
    const before = dispatched().length
    await Promise.all(calls.map((call) => session.call(call)))
    expect(dispatched().slice(before)).toEqual(ids)
  })

  test('use a budget in their order', async () => {
    const { session } = await openWorld({ mode: 'yolo', guards: [() => {}], budget: { calls: 5 } })
    const outcomes = await Promise.all(calls.map((call) => session.call(call)))
    expect(outcomes.map(verdictOf)).toEqual(ids.map((_, n) => n < 4 ? 'output' : 'BudgetExhausted'))
  })

  test('a call that exhausts a budget denies the next one before a person is asked', async () => {
    const approver = new ScriptedApprover('once')
    const { session, eventsOf } = await openWorld({ mode: 'ask', approver, budget: { calls: 2 } })
    const outcomes = await Promise.all([
      session.call({ id: 'c1', name: 'free', arguments: {} }),
      session.call({ id: 'c2', name: 'guarded', arguments: {} }),
    ])
    expect(outcomes.map(verdictOf)).toEqual(['output', 'BudgetExhausted'])
    expect(approver.asked).toEqual([])
    expect(eventsOf('ToolInvocationDecided').at(-1)).toMatchObject({ callId: 'c2', decision: 'deny', stage: 'budget' })
  })

  test('ask their questions in their order', async () => {
    const approver = new ScriptedApprover('once')
    const { session } = await openWorld({ mode: 'ask', approver, guards: [() => {}] })
    const asking = calls.filter(({ name }) => name === 'guarded' || name === 'keyed')
    await Promise.all(calls.map((call) => session.call(call)))
    expect(approver.asked.map(({ callId }) => callId)).toEqual(asking.map(({ id }) => id))
  })

  test('pass the gate of the store together, before any of them is sent', async () => {
    const log: string[] = []
    const execute = async ({ n }: JsonObject) => {
      if (n !== undefined) log.push(`sent ${String(n)}`)
      await nextTurn()
    }
    const tools = Object.fromEntries(Object.entries(TOOLS).map(([name, tool]) => [name, { ...tool, execute }]))
    const { session } = await openWorld(
      { mode: 'yolo', guards: [() => {}] }, { store: loggedStore(log), extensions: [{ tools }] },
    )
    log.length = 0
    await Promise.all(calls.map((call) => session.call(call)))
    expect(log.slice(0, ids.length)).toEqual(ids.map((id) => `start ${id}`))
    expect(log.slice(ids.length, 2 * ids.length)).toEqual(ids.map((_, n) => `sent ${n}`))
  })
})
