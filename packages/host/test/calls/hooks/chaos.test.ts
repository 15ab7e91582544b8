import type { BulkheadEvent, MachineStage } from '@bulkhead/contract'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import type { Hooks, SessionOptions } from '../../../src/index.ts'
import { flush, ManualClock } from '../../twin/clock.ts'
import { createWorld, verdictOf } from '../../twin/world.ts'

const TERMINAL: ReadonlySet<string> = new Set([
  'ToolInvocationSucceeded', 'ToolInvocationFailed', 'ToolInvocationCancelled',
])
/** What embedder code may do when it is called, including errors. */
const manner = fc.constantFrom(
  'fine', 'fine', 'fine', 'late', 'throw', 'reject', 'reject in its own way', 'hang', 'nonsense', 'no', 'change',
)
const ending = fc.constantFrom('nothing', 'abort', 'close session', 'close host')

/** Behaves in these ways, one for each call. */
function unruly(manners: readonly string[]) {
  let called = 0
  return (no: unknown, change: unknown): never => {
    const how = manners[called++ % manners.length]!
    const answer: Readonly<Record<string, () => unknown>> = {
      'fine': () => undefined,
      'late': async () => {
        await flush()
      },
      'throw': () => {
        throw new Error('thrown')
      },
      'reject': async () => {
        throw new Error('rejected')
      },
      'hang': () => new Promise(() => {}),
      'reject in its own way': () => ({
        then: (_: unknown, reject: (why: Error) => void) => reject(new Error('refused')),
      }),
      'nonsense': () => ({ action: 'sing' }),
      'no': () => no, 'change': () => change,
    }
    return answer[how]!() as never
  }
}

function optionsOf(manners: readonly string[]): SessionOptions {
  const act = unruly(manners)
  const deny = { action: 'deny', reason: 'no' }
  const observer = () => act(false, undefined)
  const hooks: Hooks = {
    beforeToolExecution: () => act(false, true), afterToolExecution: observer,
    beforeToolExecutionUpdate: () => act(false, true), afterToolExecutionUpdate: observer, onBeforeTool: observer,
    onAfterTool: observer, onToolError: observer, onPermissionDenied: observer,
  }
  const stage: MachineStage = { stageExecutionId: 'x', name: 'n', attempt: 1, allowedTools: ['echo'] }
  return {
    hooks,
    watchdog: ({ args }) => act(deny, { action: 'change', arguments: { ...args, changed: true }, reason: 'because' }),
    guards: [
      {
        id: 'g', pre: () => act(deny, { action: 'change', arguments: 5, reason: 'because' }),
        post: () => act(deny, { action: 'change', data: 'other', reason: 'because' }),
      },
    ],
    stateMachine: { id: 'm', stage: () => act({ ...stage, allowedTools: [] }, { ...stage, attempt: 2 }) ?? stage },
    approver: { approve: () => act(Promise.resolve({ decision: 'reject' }), Promise.resolve({ decision: 'once' })) },
  }
}

test('with any hooks, guards and machines each call settles once and is reported once', async () => {
  const manners = fc.array(manner, { minLength: 1, maxLength: 12 })
  await fc.assert(fc.asyncProperty(manners, fc.integer({ min: 1, max: 5 }), ending, async (how, count, end) => {
    const clock = new ManualClock()
    const world = createWorld({
      clock, drainMs: 50,
      extensions: [
        {
          tools: {
            echo: {
              execute: async (args, { update }) => {
                update(1)
                await flush()
                if (args['changed']) throw new Error('wrong')
                return args
              },
            },
          },
        },
      ],
    })
    const session = await world.host.openSession(optionsOf(how))
    const cancel = new AbortController()
    const calls = Array.from({ length: count }, (_, n) =>
      session.call({ id: `c${n}`, name: 'echo', arguments: { n } }, { signal: cancel.signal }),
    )
    await flush()
    if (end === 'abort') cancel.abort()
    if (end === 'close session') void session.close()
    const closing = end === 'close host' ? world.host.close() : flush().then(() => world.host.close())
    await clock.advance(60_000)
    await closing
    const outcomes = await Promise.all(calls)
    const ended = world.events
      .filter((event): event is BulkheadEvent & { callId: string } => TERMINAL.has(event.type))
      .map(({ callId }) => callId)
    expect(ended.toSorted()).toEqual(outcomes.map(({ metadata }) => metadata.call_id).toSorted())
    expect(outcomes.map(verdictOf)).not.toContain('InternalError')
    expect(clock.pending).toBe(0)
  }), { numRuns: thoroughly(30, 400) })
})
