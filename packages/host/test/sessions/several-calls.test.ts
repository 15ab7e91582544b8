import { describe, expect, test } from 'vitest'
import { flush } from '../twin/clock.ts'
import { ScriptedApprover } from '../twin/people.ts'
import { createWorld, verdictOf } from '../twin/world.ts'

const calls = (...names: readonly string[]) => names.map((n) => ({ id: `id-${n}`, name: 'echo', arguments: { n } }))
describe('stud: several calls in one response', () => {
  const KEYED = { extensions: [{ tools: { echo: { approvalKey: '{n}' } } }] }

  test('questions are asked in the order of the calls, and nothing runs before the last answer', async () => {
    const world = createWorld(KEYED)
    const approver = new ScriptedApprover()
    const session = await world.host.openSession({ approver })
    const outcomes = session.callAll(calls('a', 'b', 'c'))
    for (const [index, decision] of (['once', 'reject', 'once'] as const).entries()) {
      await flush()
      expect(approver.asked.map(({ approvalKey }) => approvalKey)).toEqual(['a', 'b', 'c'].slice(0, index + 1))
      expect(world.eventsOf('ToolInvocationStarted')).toEqual([])
      approver.answer(decision)
    }
    expect((await outcomes).map(verdictOf)).toEqual(['output', 'ApprovalDenied', 'output'])
  })

  test('questions keep their order when keys are derived by slow code', async () => {
    const slow = Promise.withResolvers<void>()
    const world = createWorld({
      extensions: [{
        tools: {
          echo: {
            deriveApprovalKey: async (args) => {
              if (args['n'] === 'a') await slow.promise
              return String(args['n'])
            },
          },
        },
      }],
    })
    const approver = new ScriptedApprover('once')
    const session = await world.host.openSession({ approver })
    const outcomes = session.callAll(calls('a', 'b'))
    await flush()
    expect(approver.asked).toEqual([])
    slow.resolve()
    await outcomes
    expect(approver.asked.map(({ approvalKey }) => approvalKey)).toEqual(['a', 'b'])
  })

  test('in a headless session that halts, the turn ends and nothing is sent', async () => {
    const world = createWorld({
      extensions: [{ tools: { echo: { gated: false, mode: 'read', requires: {} }, ask: { approvalKey: '{n}' } } }],
    })
    const session = await world.host.openSession({ headless: 'halt' })
    const turn = session.beginTurn()
    const outcomes = await session.callAll([...calls('a'), { id: 'b', name: 'ask', arguments: { n: 'x' } }])
    expect(outcomes.map(verdictOf)).toEqual(['TurnCancelled', 'TurnCancelled'])
    expect(outcomes[1]).toMatchObject({
      error: { data: { kind: 'permission-required', requestKind: 'Approve', tool: 'ask' } },
    })
    expect(world.eventsOf('ToolInvocationStarted')).toEqual([])
    expect(turn.signal.aborted).toBe(true)
    await session.endTurn()
    session.beginTurn()
    expect(verdictOf(await session.call(calls('c')[0]!))).toBe('output')
  })

  test('a denied call stays denied when the rest is skipped', async () => {
    const world = createWorld(KEYED)
    const session = await world.host.openSession({
      approver: { approve: async ({ approvalKey }) => ({ decision: approvalKey === 'b' ? 'reject' : 'once' }) },
    })
    const outcomes = await session.callAll(calls('a', 'b', 'c'), { strategy: 'sequential', steering: () => true })
    expect(outcomes.map(verdictOf)).toEqual(['output', 'ApprovalDenied', 'SkippedBySteering'])
  })

  test('steering that never answers does not delay cancelled calls', async () => {
    const world = createWorld(KEYED)
    const session = await world.host.openSession({ mode: 'yolo' })
    const cancel = new AbortController()
    const steering = () => {
      setImmediate(() => cancel.abort())
      return new Promise<boolean>(() => {})
    }
    const outcomes = await session.callAll(calls('a', 'b'), { strategy: 'sequential', steering, signal: cancel.signal })
    expect(outcomes.map(verdictOf)).toEqual(['output', 'ToolCancelled'])
    expect(world.eventsOf('SuppressedError')).toEqual([])
  })
})
