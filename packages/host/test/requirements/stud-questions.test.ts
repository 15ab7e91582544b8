import type { Interactor } from '@bulkhead/contract'
import { expect } from 'vitest'
import { flush } from '../twin/clock.ts'
import { ScriptedInteractor } from '../twin/people.ts'
import { createWorld, verdictOf, type ToolSketch, type TwinRuntime } from '../twin/world.ts'
import { KEYED, opened, proveAll, ran } from './requirement.ts'

proveAll('stud', [
  {
    id: 'stud.several-calls',
    statement: 'approvals of a response are asked in order; then all approved calls run, with results in order',
    async prove() {
      const gate = Promise.withResolvers<void>()
      const { world, session, approver } = await opened({
        tool: {
          ...KEYED,
          execute: async ({ key }) => {
            if (key === 'a') await gate.promise
            else gate.resolve()
            return key
          },
        },
        approver: { approve: async ({ approvalKey }) => ({ decision: approvalKey === 'b' ? 'reject' : 'once' }) },
      })
      const calls = ['a', 'b', 'c'].map((key) => ({ id: key, name: 'echo', arguments: { key } }))
      const outcomes = await session.callAll(calls)
      expect(outcomes.map(({ metadata }) => metadata.call_id)).toEqual(['a', 'b', 'c'])
      expect(outcomes.map(verdictOf)).toEqual(['output', 'ApprovalDenied', 'output'])
      expect(world.eventsOf('ToolInvocationDecided').map(({ callId }) => callId)).toEqual(['a', 'b', 'c'])
      expect(approver.asked).toEqual([])
    },
  },
  {
    id: 'stud.halt',
    statement: 'where the session halts, a call that cannot be approved ends the turn and nothing is dispatched',
    async prove() {
      const { world, session } = await opened({ person: undefined, headless: 'halt' })
      session.beginTurn()
      const calls = ['a', 'b'].map((key) => ({ id: key, name: 'echo', arguments: { key } }))
      expect((await session.callAll(calls)).map(verdictOf)).toEqual(['TurnCancelled', 'TurnCancelled'])
      expect(ran(world)).toEqual([])
    },
  },
  {
    id: 'stud.headless', statement: 'without a person every question halts the turn',
    overruledBy: 'headless: ask is deny (option: halt the turn)',
    async prove() {
      const { session, verdict } = await opened({ person: undefined })
      session.beginTurn()
      expect(await verdict()).toEqual(['ApprovalDenied', 0])
      expect(await verdict({ key: 'b' })).toEqual(['ApprovalDenied', 0])
    },
  },
  {
    id: 'stud.decisions-are-recorded',
    statement: 'every decision is in the audit with its source, tool, key, digest of the arguments and origin layer',
    async prove() {
      const { world, verdict } = await opened({ config: { audit: { enabled: true } } })
      await verdict()
      await world.host.flush()
      const records = (await world.store.records()).map(({ record }) => record)
      expect(records).toContainEqual(expect.objectContaining({
        type: 'ToolInvocationDecided', decision: 'allow', source: 'person', tool: 'echo', approvalKey: 'a',
        argsSha256: expect.stringMatching(/^[0-9a-f]{64}$/), origin: expect.objectContaining({ layer: 'global' }),
      }))
    },
  },
  {
    id: 'stud.prompts-by-protocol',
    statement: 'a tool asks people by the interaction protocol only, and cannot ask questions of the host',
    async prove() {
      const asking = async ({ services, callId, signal }: TwinRuntime) =>
        services.interact!(callId, { kind: 'grantStageTool' } as never, signal).catch(
          (thrown: { code: string }) => thrown.code,
        )
      const tool: ToolSketch = { requires: { capabilities: ['interact'] }, execute: (_, runtime) => asking(runtime) }
      expect(await (await opened({ tool })).call({})).toMatchObject({ data: 'CapabilityDenied' })
      const world = createWorld({ extensions: [{ tools: { echo: { gated: false, mode: 'read', requires: {} } } }] })
      await (await world.host.openSession()).call({ id: 'c', name: 'echo', arguments: {} })
      expect(world.compartment().request.services.interact).toBeUndefined()
    },
  },
  {
    id: 'stud.first-answer-counts',
    statement: 'of several interactors the first answer counts and the others are dismissed',
    async prove() {
      let dismissed: unknown
      const slow: Interactor = {
        interact: (_, signal) =>
          new Promise(() =>
            signal.addEventListener('abort', () => {
              dismissed = signal.reason
            }),
          ),
      }
      const quick = new ScriptedInteractor(() => ({ status: 'accepted', value: { decision: 'once' } }))
      const { verdict } = await opened({ interactor: [slow, quick], person: undefined })
      expect(await verdict()).toEqual(['output', 0])
      await flush()
      expect(dismissed).toMatchObject({ code: 'InteractionAlreadyAnswered' })
    },
  },
])
