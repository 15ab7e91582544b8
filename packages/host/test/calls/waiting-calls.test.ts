import { tmpdir } from 'node:os'
import type { Clock, CompartmentLimits, CompartmentSession, Outcome, Sandbox } from '@bulkhead/contract'
import { createSandbox } from '@bulkhead/sandbox'
import { describe, expect, onTestFinished, test } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { ManualClock } from '../twin/clock.ts'
import { createWorld, verdictOf, type ExtensionSketch, type ToolSketch, type World } from '../twin/world.ts'

interface Given {
  readonly concurrency?: number
  readonly limits?: Partial<CompartmentLimits>
  readonly clock?: Clock
}

/** A host over real compartments. */
function realWorld(
  code: string, sketch: ExtensionSketch, { concurrency = 1, limits, clock }: Given = {},
): World & { readonly opened: CompartmentSession[] } {
  const real = createSandbox({ workspace: tmpdir(), spares: { process: 0, thread: 0 } })
  const opened: CompartmentSession[] = []
  const sandbox: Sandbox = {
    ...real,
    open: async (request) => {
      const session = await real.open({ ...request, placement: 'thread' })
      opened.push(session)
      return session
    },
  }
  const world = createWorld({
    sandbox, ...(clock && { clock }),
    config: { extensions: { sample: { compartments: concurrency, ...(limits && { limits }) } } },
    extensions: [{ readFiles: async () => new Map([['index.js', new TextEncoder().encode(code)]]), ...sketch }],
  })
  onTestFinished(async () => {
    await world.host.close()
    await real.close()
  })
  return { ...world, opened }
}

const ACTS: ToolSketch = { requires: { net: { hosts: ['example.com'] } } }
const attemptOf = ({ metadata }: Outcome): number => metadata.attempt

const COUNTING = `
  let running = 0, most = 0
  const waiting = []
  export default { tools: { echo: { async execute({ hang, together = 0 }) {
    most = Math.max(most, ++running)
    if (most >= together) for (const go of waiting.splice(0)) go()
    if (hang || most < together) await new Promise((resolve) => hang || waiting.push(resolve))
    running--
    return most
  } } } }
`

describe('more concurrent calls than an extension may run', () => {
  test('all run, each at its first attempt', async () => {
    const { host } = realWorld(COUNTING, { tools: { echo: ACTS } })
    const session = await host.openSession({ mode: 'yolo' })
    const outcomes = await Promise.all(
      Array.from({ length: 256 }, (_, n) => session.call({ id: `c${n}`, name: 'echo', arguments: { together: 64 } })),
    )
    expect(new Set(outcomes.map((outcome) => `${verdictOf(outcome)} ${attemptOf(outcome)}`))).toEqual(
      new Set(['output 1']),
    )
    expect(Math.max(...outcomes.map((outcome) => outcome.type === 'output' ? outcome.data as number : 0))).toBe(64)
  })

  test('the time of a call includes its wait, and a call beyond the queue is rejected at once', async () => {
    const clock = new ManualClock()
    const { host, eventsOf } = realWorld(COUNTING, { tools: { echo: ACTS } }, { limits: { concurrentCalls: 1 }, clock })
    const session = await host.openSession({ mode: 'yolo' })
    const call = (id: string, timeoutMs: number, hang: boolean) =>
      session.call({ id, name: 'echo', arguments: { hang } }, { timeoutMs })
    await call('warm', 600_000, false)
    const giveUp = new AbortController()
    const hanging = session.call({ id: 'hangs', name: 'echo', arguments: { hang: true } }, { signal: giveUp.signal })
    const waiting = Array.from({ length: 16 }, (_, n) => call(`waits${n}`, 50, false))
    const full = await call('full', 600_000, false)
    expect(full).toMatchObject({
      error: { code: 'TooManyCalls', data: { limit: 'concurrentCalls' } }, metadata: { attempt: 0 },
    })
    await clock.advance(50)
    expect(new Set((await Promise.all(waiting)).map(verdictOf))).toEqual(new Set(['ExecutionTimeout']))
    giveUp.abort()
    expect(verdictOf(await hanging)).toBe('ToolCancelled')
    expect(eventsOf('ToolInvocationStarted').filter(({ attempt }) => attempt > 1)).toEqual([])
  })

  test('a session with many calls does not block another', async () => {
    const ORDER = `
      const order = []
      export default { tools: { echo: { execute({ name }) {
        order.push(name)
        return [...order]
      } } } }
    `
    const { host } = realWorld(ORDER, { tools: { echo: ACTS } }, { limits: { concurrentCalls: 1 } })
    const [greedy, modest] = await Promise.all([host.openSession({ mode: 'yolo' }), host.openSession({ mode: 'yolo' })])
    await greedy.call({ id: 'warm', name: 'echo', arguments: { name: 'warm' } })
    const all = Array.from({ length: 10 }, (_, n) =>
      greedy.call({ id: `g${n}`, name: 'echo', arguments: { name: `g${n}` } }),
    )
    const one = await modest.call({ id: 'm', name: 'echo', arguments: { name: 'm' } })
    expect(one).toMatchObject({ data: ['warm', 'g0', 'g1', 'm'] })
    expect((await Promise.all(all)).map(verdictOf)).toEqual(Array.from({ length: 10 }, () => 'output'))
  })

  test('nested calls do not wait for their callers', async () => {
    const NESTING = `export default { tools: { outer: { async execute({ depth }, runtime) {
      if (depth === 0) return 'deep'
      const inner = await Promise.all([1, 2, 3].map(() => runtime.tools.call('outer', { depth: depth - 1 })))
      return inner.map(({ type }) => type)
    } } } }`
    const requires = { net: { hosts: ['example.com'] }, capabilities: ['tools.call' as const] }
    const { host } = realWorld(NESTING, { tools: { outer: { requires } } }, { limits: { concurrentCalls: 2 } })
    const session = await host.openSession({ mode: 'yolo' })
    const outcomes = await Promise.all(
      [1, 2, 3].map((n) => session.call({ id: `c${n}`, name: 'outer', arguments: { depth: 2 } })),
    )
    expect(outcomes).toMatchObject(outcomes.map(() => ({ type: 'output', data: ['output', 'output', 'output'] })))
  })
})

/** More than are admitted to the queue at once. */
const BURST = thoroughly(1_200, 10_000)
describe(`a burst of ${BURST} calls of one session`, () => {
  const RUN = 'export default { tools: { echo: { execute: ({ n }) => n } } }'
  const burst = Array.from({ length: BURST }, (_, n) => ({ id: `c${n}`, name: 'echo', arguments: { n } }))
  const count = (words: readonly string[]) =>
    Object.fromEntries(
      Map.groupBy(words, (word) => word)
        .entries()
        .map(([word, all]) => [word, all.length]),
    )
  const ADMITTED = 64 + 16 * 64

  test('callAll runs every one of them', async () => {
    const { host } = realWorld(RUN, { tools: { echo: ACTS } })
    const session = await host.openSession({ mode: 'yolo' })
    const outcomes = await session.callAll(burst)
    expect(count(outcomes.map(verdictOf))).toEqual({ output: burst.length })
    expect(outcomes.map((outcome) => outcome.type === 'output' && outcome.data)).toEqual(burst.map((_, n) => n))
  })

  test('calls of callAll that have not started end when it is cancelled, and other calls start instead', async () => {
    const { host, eventsOf } = realWorld(COUNTING, { tools: { echo: ACTS } }, { limits: { concurrentCalls: 1 } })
    const session = await host.openSession({ mode: 'yolo' })
    const cancel = new AbortController()
    host.on(() => cancel.abort(), ['ToolInvocationStarted'])
    const outcomes = await session.callAll(
      burst.slice(0, 3).map((call) => ({ ...call, arguments: { hang: true } })), { signal: cancel.signal },
    )
    expect(outcomes.map(verdictOf)).toEqual(['ToolCancelled', 'ToolCancelled', 'ToolCancelled'])
    expect(eventsOf('ToolInvocationStarted')).toHaveLength(1)
    expect((await session.callAll(burst.slice(0, 3))).map(verdictOf)).toEqual(['output', 'output', 'output'])
  })

  test('calls that find the queue full are refused before any other work is done, and each ends once', async () => {
    const { host, eventsOf } = realWorld(RUN, { tools: { echo: ACTS } })
    const session = await host.openSession({ mode: 'yolo' })
    // What would be invalid is not even read.
    const outcomes = await Promise.all(
      burst.map((call, n) => session.call(n < ADMITTED ? call : { ...call, arguments: 'none' })),
    )
    expect(count(outcomes.map((outcome) => `${verdictOf(outcome)} ${attemptOf(outcome)}`)))
      .toEqual({ 'output 1': ADMITTED, 'TooManyCalls 0': burst.length - ADMITTED })
    expect(eventsOf('ToolInvocationProposed')).toHaveLength(ADMITTED)
    const ended = [
      ...eventsOf('ToolInvocationSucceeded'), ...eventsOf('ToolInvocationCancelled'),
      ...eventsOf('ToolInvocationFailed'),
    ]
    expect([ended.length, new Set(ended.map(({ callId }) => callId)).size]).toEqual([burst.length, burst.length])
    expect(verdictOf(await session.call({ id: 'after', name: 'echo', arguments: {} }))).toBe('output')
  })
})

describe('after a crash', () => {
  const MORTAL = `export default { tools: { echo: {
    deriveApprovalKey: ({ die }) => String(die),
    async execute({ die }, runtime) {
      if (die) { runtime.progress('dies'); process.exit(3) }
      return 'alive'
    },
  } } }`

  test.each([1, 2])('the next call runs in a new compartment, with a concurrency of %i', async (concurrency) => {
    const world = realWorld(MORTAL, { tools: { echo: ACTS } }, { concurrency })
    const session = await world.host.openSession({ mode: 'yolo' })
    let calls = 0
    const call = (die: boolean) => session.call({ id: `c${++calls}`, name: 'echo', arguments: { die } })
    expect(verdictOf(await call(false))).toBe('output')
    const meanwhile: Promise<Outcome>[] = []
    let failures = 0
    // At the last failure: a compartment that still runs could get the call and crash with it.
    world.host.on(({ type }) => {
      if (type === 'ToolInvocationFailed' && ++failures === concurrency) meanwhile.push(call(false))
    })
    const crashed = await Promise.all(Array.from({ length: concurrency }, () => call(true)))
    const next = await call(false)
    expect(new Set(crashed.map(verdictOf))).toEqual(new Set(['CompartmentCrashed']))
    expect(next).toMatchObject({ data: 'alive', metadata: { attempt: 1 } })
    expect(await Promise.all(meanwhile)).toMatchObject([{ data: 'alive', metadata: { attempt: 1 } }])
    expect(world.opened).toHaveLength(2)
  })

  test('waiting calls run in the next compartment', async () => {
    const world = realWorld(MORTAL, { tools: { echo: ACTS } }, { limits: { concurrentCalls: 1 } })
    const session = await world.host.openSession({ mode: 'yolo' })
    const call = (id: string, die: boolean) => session.call({ id, name: 'echo', arguments: { die } })
    expect(verdictOf(await call('warm', false))).toBe('output')
    const outcomes = await Promise.all([call('dies', true), call('a', false), call('b', false)])
    expect(outcomes.map(verdictOf)).toEqual(['CompartmentCrashed', 'output', 'output'])
    expect(world.eventsOf('ToolInvocationStarted').map(({ callId, attempt }) => `${callId} ${attempt}`)).toEqual([
      'warm 1', 'dies 1', 'a 1', 'b 1',
    ])
  })
})
