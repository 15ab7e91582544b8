import type { EventType } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import type { Guard, HookContext, Hooks, Observers, SessionOptions } from '../../../src/index.ts'
import { ManualClock } from '../../twin/clock.ts'
import { createWorld, type ToolSketch } from '../../twin/world.ts'

const TOLD: ReadonlySet<EventType> = new Set<EventType>([
  'ToolInvocationProposed', 'ToolInvocationDecided', 'ToolInvocationStarted', 'ToolInvocationUpdated',
  'ToolInvocationProgress', 'ToolInvocationSucceeded', 'ToolInvocationFailed', 'ToolInvocationCancelled',
  'ToolInvocationChanged',
])

/** All events, hooks and questions of one call, in order. */
async function recorded(
  tool: ToolSketch, more: Partial<SessionOptions> = {}, play: 'call' | 'skip' = 'call', config = {},
) {
  const log: string[] = []
  const note =
    (line: string) =>
    ({ callId }: { readonly callId: string }) => {
      if (callId === 'c') log.push(line)
    }
  const runs: ToolSketch['execute'] = (_, runtime) => {
    note('· runs')(runtime)
    return 1
  }
  const clock = new ManualClock()
  const world = createWorld({ clock, config, extensions: [{ tools: { echo: { execute: runs, ...tool } } }] })
  world.host.on((event) => {
    if (TOLD.has(event.type) && 'callId' in event && event.callId === 'c') {
      log.push(
        event.type.replace('ToolInvocation', '')
          + ('attempt' in event && event.type.endsWith('Started') ? ` ${event.attempt}` : ''),
      )
    }
  })
  const observe = (point: keyof Observers) => ({
    [point]: (context: HookContext) => note(`${point} ${context.attempt}`)(context),
  })
  const hooks: Hooks = {
    beforeToolExecution: note('beforeToolExecution'),
    afterToolExecution: note('afterToolExecution'),
    beforeToolExecutionUpdate: note('beforeToolExecutionUpdate'),
    afterToolExecutionUpdate: note('afterToolExecutionUpdate'),
    ...observe('onBeforeTool'), ...observe('onAfterTool'), ...observe('onToolError'), ...observe('onPermissionDenied'),
    ...observe('onTokenBudgetExceeded'), ...observe('onToolsDisabled'),
  }
  const guard: Guard = { id: 'guard', pre: note('guard pre'), post: note('guard post') }
  const session = await world.host.openSession({
    mode: 'yolo', watchdog: note('watchdog'), guards: [guard], ...more, hooks: [hooks, more.hooks ?? []].flat(),
  })
  const call = { id: 'c', name: 'echo', arguments: {} }
  const outcome =
    play === 'call'
      ? session.call(call)
      : session.callAll([{ ...call, id: 'first' }, call], { strategy: 'sequential', steering: () => true })
  await clock.advance(60_000)
  await outcome
  return log
}

const DECIDED = ['Proposed', 'watchdog', 'guard pre', 'Decided']

test('a success calls the hooks in order', async () => {
  expect(await recorded({})).toEqual([
    ...DECIDED, 'beforeToolExecution',
    'Started 1', 'onBeforeTool 1', '· runs', 'guard post', 'onAfterTool 1', 'Succeeded', 'afterToolExecution',
  ])
})

test('an update calls its hooks in order', async () => {
  const execute: ToolSketch['execute'] = (_, { update, progress }) => { update(1); progress('half'); return 2 }
  expect(await recorded({ execute })).toEqual([
    ...DECIDED, 'beforeToolExecution', 'Started 1', 'onBeforeTool 1',
    'beforeToolExecutionUpdate', 'Updated', 'afterToolExecutionUpdate', 'Progress',
    'guard post', 'onAfterTool 1', 'Succeeded', 'afterToolExecution',
  ])
})

test('an exception calls onToolError', async () => {
  expect(await recorded({ mode: 'local', effects: 'once', execute: () => { throw new Error('wrong') } })).toEqual([
    ...DECIDED, 'beforeToolExecution', 'Started 1', 'onBeforeTool 1', 'onToolError 1', 'Failed', 'afterToolExecution',
  ])
})

test('a failure that the tool reports does not call onToolError', async () => {
  expect(await recorded({ execute: () => ({ success: false, error: 'wrong' }) })).toEqual([
    ...DECIDED, 'beforeToolExecution', 'Started 1', 'onBeforeTool 1', 'guard post', 'Failed', 'afterToolExecution',
  ])
})

test('a retry calls the hooks of each attempt', async () => {
  let busy = 2
  const execute = () => {
    if (busy-- > 0) throw Object.assign(new Error('busy'), { code: 'ResourceBusy' })
    return 1
  }
  expect(await recorded({ execute })).toEqual([
    ...DECIDED, 'beforeToolExecution', 'Started 1', 'onBeforeTool 1', 'onToolError 1', 'Started 2', 'onBeforeTool 2',
    'onToolError 2', 'Started 3', 'onBeforeTool 3', 'guard post', 'onAfterTool 3', 'Succeeded', 'afterToolExecution',
  ])
})

test('a veto of a before-hook cancels the call', async () => {
  expect(await recorded({}, { hooks: { beforeToolExecution: () => false } })).toEqual([
    ...DECIDED, 'beforeToolExecution', 'Cancelled',
  ])
})

test('a veto of an update stops that update only', async () => {
  const execute: ToolSketch['execute'] = (_, { update }) => { update(1); return 2 }
  expect(await recorded({ execute }, { hooks: { beforeToolExecutionUpdate: () => false } })).toEqual([
    ...DECIDED, 'beforeToolExecution', 'Started 1', 'onBeforeTool 1', 'beforeToolExecutionUpdate',
    'guard post', 'onAfterTool 1', 'Succeeded', 'afterToolExecution',
  ])
})

test('a call skipped by steering calls no hooks', async () => {
  expect(await recorded({}, {}, 'skip')).toEqual([...DECIDED, 'Started 0', 'Cancelled'])
})

test('a denial calls onPermissionDenied', async () => {
  const denied = await recorded({}, { watchdog: () => ({ action: 'deny', reason: 'no' }) })
  expect(denied).toEqual(['Proposed', 'Decided', 'onPermissionDenied 0', 'Cancelled'])
})

test('after a change of the arguments every policy is asked again', async () => {
  const tidy = ({ args }: { args: object }) =>
    ({ action: 'change', arguments: { ...args, tidy: true }, reason: 'tidier' }) as const
  expect((await recorded({}, { guards: [tidy] })).slice(0, 5)).toEqual([
    'Proposed', 'watchdog', 'watchdog', 'Changed', 'Decided',
  ])
})

test('an exhausted budget calls its hook', async () => {
  expect(await recorded({}, { budget: { calls: 0 } })).toEqual([...DECIDED, 'onTokenBudgetExceeded 0', 'Cancelled'])
})

test('tools that are switched off call their hook', async () => {
  expect(await recorded({}, {}, 'call', { toolsEnabled: false })).toEqual(['onToolsDisabled 0', 'Cancelled'])
})
