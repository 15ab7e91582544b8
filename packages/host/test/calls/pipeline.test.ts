import { BulkheadError, type BulkheadEvent, type Outcome } from '@bulkhead/contract'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { flush, ManualClock } from '../twin/clock.ts'
import { createWorld, verdictOf, type ToolSketch } from '../twin/world.ts'

const DEADLINE_MS = 100
const step = fc.oneof(
  fc.record({ do: fc.constantFrom('call', 'answer', 'throw', 'abort', 'say yes', 'say no'), which: fc.nat(4) }),
  fc.record({
    do: fc.constantFrom('crash', 'deadline', 'close session', 'close host', 'open the gate', 'nothing'),
    which: fc.constant(0),
  }),
)
const TERMINAL: ReadonlySet<string> = new Set([
  'ToolInvocationSucceeded', 'ToolInvocationFailed', 'ToolInvocationCancelled',
])

interface Open {
  readonly outcome: Promise<Outcome>
  readonly cancel: AbortController
}

/** Everything that can end a call, racing in random order. */
async function play(
  steps: readonly { readonly do: string; readonly which: number }[],
  pace: readonly boolean[],
  tool: ToolSketch,
  startsSlowly: boolean,
) {
  const clock = new ManualClock()
  const answers = new Map<string, PromiseWithResolvers<unknown>>()
  const questions = new Map<string, (decision: 'once' | 'reject') => void>()
  const start = Promise.withResolvers<void>()
  const world = createWorld({
    clock, drainMs: 50,
    extensions: [{ tools: { echo: { ...tool, timeoutMs: DEADLINE_MS, execute: (args) => {
      const answer = Promise.withResolvers<unknown>()
      answers.set(String(args['which']), answer)
      return answer.promise
    } } } }],
  })
  if (startsSlowly) world.sandbox.beforeOpen = () => start.promise
  const session = await world.host.openSession({
    approver: {
      approve: ({ callId }) => new Promise((resolve) => { questions.set(callId, (decision) => resolve({ decision })) }),
    },
  })
  const open: Open[] = []
  const act: Readonly<Record<string, (which: number) => void>> = {
    'call': (which) => {
      const cancel = new AbortController()
      open.push({
        cancel,
        outcome: session.call(
          { id: `c${open.length}`, name: 'echo', arguments: { which, key: `k${open.length}` } },
          { signal: cancel.signal },
        ),
      })
    },
    'answer': (which) => answers.get(String(which))?.resolve({ which }),
    'throw': (which) => answers.get(String(which))?.reject(new BulkheadError('ResourceBusy', 'busy')),
    'abort': (which) => open[which]?.cancel.abort(),
    'say yes': (which) => questions.get(`c${which}`)?.('once'),
    'say no': (which) => questions.get(`c${which}`)?.('reject'),
    'crash': () => world.sandbox.alive.at(-1)?.crash(),
    'deadline': () => { void clock.advance(DEADLINE_MS) },
    'close session': () => { void session.close() },
    'close host': () => { void world.host.close() },
    'open the gate': () => start.resolve(),
    'nothing': () => {},
  }
  for (const [index, { do: what, which }] of steps.entries()) {
    act[what]!(which)
    if (pace[index % pace.length]) await flush()
  }
  const closing = world.host.close()
  await clock.advance(60_000)
  await closing
  return { world, clock, outcomes: await Promise.all(open.map(({ outcome }) => outcome)) }
}

test('every call settles exactly once, whatever ends it', async () => {
  const tools = fc.constantFrom<ToolSketch>(
    { approvalKey: '{key}' },
    { gated: false },
    { approvalKey: '{key}', idempotent: true },
    { deriveApprovalKey: (args) => String(args['key']) },
  )
  const script = fc.array(step, { minLength: 3, maxLength: 25 })
  const paces = fc.array(fc.boolean(), { minLength: 1, maxLength: 5 })
  await fc.assert(fc.asyncProperty(script, paces, tools, fc.boolean(), async (steps, pace, tool, slow) => {
    const { world, clock, outcomes } = await play(steps, pace, tool, slow)
    const ends = world.events.filter(
      (event): event is BulkheadEvent & { callId: string } => TERMINAL.has(event.type),
    ).map(({ callId }) => callId)
    expect(ends.toSorted()).toEqual(outcomes.map(({ metadata }) => metadata.call_id).toSorted())
    expect(outcomes.map(verdictOf)).not.toContain('InternalError')
    expect(world.sandbox.alive).toEqual([])
    expect(world.sandbox.compartments.map(({ inFlight }) => inFlight).every((count) => count === 0)).toBe(true)
    expect(clock.pending).toBe(0)
  }), { numRuns: thoroughly(40, 500) })
})

test('a stage that throws gives an outcome, and the next call works', async () => {
  let broken = false
  const world = createWorld({ clock: Object.assign(new ManualClock(), {}) })
  const session = await world.host.openSession({
    mode: 'yolo',
    budget: {
      get tokens() {
        if (broken) throw new Error('a limit that cannot even be read')
        return 1_000
      },
    },
  })
  broken = true
  expect(await session.call({ id: 'c1', name: 'echo', arguments: {} })).toMatchObject({
    error: { code: 'InternalError' }, error_text: expect.stringContaining('cannot even be read'),
  })
  broken = false
  expect(verdictOf(await session.call({ id: 'c2', name: 'echo', arguments: {} }))).toBe('output')
})
