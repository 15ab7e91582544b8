import { toPhiEvents, toPhiMessage } from '@bulkhead/contract/dialects'
import { expect } from 'vitest'
import type { Hooks } from '../../src/index.ts'
import { flush } from '../twin/clock.ts'
import { verdictOf } from '../twin/world.ts'
import { A, B, KEYED, opened, proveAll, ran } from './requirement.ts'

const SKIPPED = 'Tool execution skipped by before_tool_execution hook.'

proveAll('phi', [
  {
    id: 'phi.before-hook-vetoes',
    statement: 'a before hook that returns false skips the call; the model gets an error with the fixed text',
    async prove() {
      const { world, call } = await opened({ hooks: { beforeToolExecution: () => false } })
      const outcome = await call()
      expect(outcome).toMatchObject({
        type: 'error', error: { code: 'HookVetoed' }, error_text: SKIPPED, completion: { needsFollowup: true },
      })
      expect(toPhiMessage(outcome, 0)).toMatchObject({ isError: true, content: [{ type: 'text', text: SKIPPED }] })
      expect(ran(world)).toEqual([])
    },
  },
  {
    id: 'phi.veto-has-no-start', statement: 'a skipped call has neither start nor end',
    async prove() {
      const { world, call } = await opened({ hooks: { beforeToolExecution: () => false } })
      await call()
      expect(world.eventsOf('ToolInvocationStarted')).toEqual([])
      const types = world.events.flatMap((event) => toPhiEvents(event)).map(({ type }) => type)
      expect(types.filter((type) => type.startsWith('ToolExecution'))).toEqual([])
    },
  },
  {
    id: 'phi.before-hook-context', statement: 'the before hook fires before the start, with name, id and arguments',
    async prove() {
      const log: unknown[] = []
      const hooks: Hooks = { beforeToolExecution: ({ tool, callId, args }) => { log.push([tool.name, callId, args]) } }
      const { world, call } = await opened({ hooks })
      world.host.on(({ type }) => { if (type === 'ToolInvocationStarted') log.push('start') })
      await call()
      expect(log).toEqual([['echo', 'c1', A], 'start'])
    },
  },
  {
    id: 'phi.failing-hook-vetoes', statement: 'a before hook that fails vetoes the call',
    async prove() {
      for (const beforeToolExecution of [() => { throw new Error('bug') }, () => Promise.reject(new Error('bug'))]) {
        const { world, verdict } = await opened({ hooks: { beforeToolExecution } })
        expect((await verdict())[0]).toBe('HookVetoed')
        expect(ran(world)).toEqual([])
      }
    },
  },
  {
    id: 'phi.after-hook',
    statement: 'the after hook fires only after a call that ran, and shows whether it failed',
    async prove() {
      const log: unknown[] = []
      const hooks: Hooks = { afterToolExecution: ({ callId }, { type }) => { log.push([callId, type]) } }
      const execute = ({ key }: Record<string, unknown>) => {
        if (key === 'b') throw new Error('no')
        return 1
      }
      const rules = [{ permission: 'echo', pattern: 'c', action: 'deny' }] as const
      const { world, session, call } = await opened({ tool: { ...KEYED, execute }, hooks, rules })
      const ends = new Set<string>(['ToolInvocationSucceeded', 'ToolInvocationFailed'])
      world.host.on(({ type }) => { if (ends.has(type)) log.push(type) })
      await call()
      await call(B)
      await session.call({ id: 'c3', name: 'echo', arguments: { key: 'c' } })
      expect(log).toEqual(['ToolInvocationSucceeded', ['c1', 'output'], 'ToolInvocationFailed', ['c2', 'error']])
    },
  },
  {
    id: 'phi.update-hooks',
    statement: 'an update hook that returns false suppresses the update, and the after-update hook does not fire',
    async prove() {
      const updates: unknown[] = []
      const { world, call } = await opened({
        tool: { execute: (_, { update }) => { update('secret'); update('open'); return 1 } },
        hooks: {
          beforeToolExecutionUpdate: (_, partial) => partial !== 'secret',
          afterToolExecutionUpdate: (_, partial) => { updates.push(partial) },
        },
      })
      await call({})
      expect(world.eventsOf('ToolInvocationUpdated').map(({ partial }) => partial)).toEqual(['open'])
      expect(updates).toEqual(['open'])
    },
  },
  {
    id: 'phi.permissions-above-hooks',
    statement: 'permissions are decided before the hooks: a denied call reaches none',
    async prove() {
      let asked = 0
      const hooks: Hooks = { beforeToolExecution: () => { asked++ } }
      const { session, verdict } = await opened({
        extensions: [{ tools: { echo: KEYED, other: KEYED } }], hooks, tools: ['echo'],
        rules: [{ permission: 'echo', pattern: 'b', action: 'deny' }],
      })
      expect(session.tools().map(({ name }) => name)).toEqual(['echo'])
      expect((await verdict(A, 'other'))[0]).toBe('ToolNotRegistered')
      expect((await verdict(B))[0]).toBe('RuleDenied')
      expect(asked).toBe(0)
      expect((await verdict(A))[0]).toBe('output')
      expect(asked).toBe(1)
    },
  },
  {
    id: 'phi.errors-are-results',
    statement: 'every refusal and failure is a result with is_error that the model sees, never a throw',
    async prove() {
      const { session } = await opened({ person: 'reject' })
      const refused = [['a', 'echo', A], ['b', 'nothing', {}], ['c', 'echo', 7]] as const
      for (const call of refused.map(([id, name, args]) => ({ id, name, arguments: args }))) {
        expect(toPhiMessage(await session.call(call), 0)).toMatchObject({ toolCallId: call.id, isError: true })
      }
    },
  },
  {
    id: 'phi.cancel-reaches-questions',
    statement: 'cancelling the loop ends a call that waits for a person, as cancelled',
    async prove() {
      const { world, session, call } = await opened({ approver: { approve: () => new Promise(() => {}) } })
      const outcome = call()
      await flush()
      session.cancel()
      expect(verdictOf(await outcome)).toBe('SessionCancelled')
      expect(ran(world)).toEqual([])
    },
  },
  {
    id: 'phi.steering-skips-the-rest',
    statement: 'a message of the user skips calls that have not started; each call has a start, an end and a result',
    async prove() {
      const { world, session } = await opened()
      const calls = ['a', 'b'].map((key) => ({ id: key, name: 'echo', arguments: { key } }))
      const outcomes = await session.callAll(calls, { strategy: 'sequential', steering: () => true })
      expect(outcomes.map(verdictOf)).toEqual(['output', 'SkippedBySteering'])
      expect(outcomes[1]).toMatchObject({ error_text: 'Skipped due to queued user message.' })
      expect(world.eventsOf('ToolInvocationStarted').map(({ callId }) => callId)).toEqual(['a', 'b'])
      expect(ran(world)).toEqual([A])
    },
  },
  {
    id: 'phi.sub-agents-are-under-the-hooks', statement: 'the hooks of the parent run for the calls of a sub-agent',
    async prove() {
      const { session } = await opened({ hooks: { beforeToolExecution: ({ approvalKey }) => approvalKey !== 'b' } })
      const child = await session.openSubagent({ hooks: { beforeToolExecution: () => true } })
      expect(verdictOf(await child.call({ id: 'a', name: 'echo', arguments: A }))).toBe('output')
      expect(verdictOf(await child.call({ id: 'b', name: 'echo', arguments: B }))).toBe('HookVetoed')
    },
  },
])
