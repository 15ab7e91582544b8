import { describe, expect, test } from 'vitest'
import { flush, ManualClock } from '../../twin/clock.ts'
import { ScriptedInteractor } from '../../twin/people.ts'
import { createWorld, verdictOf, type ExtensionSketch } from '../../twin/world.ts'

const echo = (id: string) => ({ id, name: 'echo', arguments: { city: 'Oslo' } })

/**
 * The first wait is in `execute` for a tool with a template, and in `authorize` for one whose code may derive the key.
 */
const TOOLS: readonly [string, ExtensionSketch, number][] = [
  ['to run the tool', { tools: { echo: { approvalKey: '{city}' } } }, 1],
  ['to derive the approval key', { tools: { echo: { gated: true } } }, 0],
]

/** A world whose compartment opens when `gate` resolves. */
async function starting(sketch: ExtensionSketch) {
  const clock = new ManualClock()
  const world = createWorld({ clock, extensions: [sketch] })
  const gate = Promise.withResolvers<void>()
  world.sandbox.beforeOpen = () => gate.promise
  const session = await world.host.openSession({ mode: 'yolo' })
  return { clock, world, gate, session }
}

describe.each(TOOLS)('a call that waits for the first start %s', (_, sketch, attempt) => {
  test('ends at its deadline, and the start continues for the others', async () => {
    const { clock, world, gate, session } = await starting(sketch)
    const ended: string[] = []
    const call = (id: string, timeoutMs: number) => session.call(echo(id), { timeoutMs }).finally(() => ended.push(id))
    const [short, long] = [call('short', 50), call('long', 1_000)]
    await clock.advance(49)
    expect(ended).toEqual([])
    await clock.advance(1)
    expect(await short).toMatchObject({
      error: { code: 'ExecutionTimeout', data: { timeoutMs: 50 } }, metadata: { duration_ms: 50, attempt },
    })
    gate.resolve()
    expect(verdictOf(await long)).toBe('output')
    expect(ended).toEqual(['short', 'long'])
    expect(world.sandbox.requests).toHaveLength(1)
    expect(world.compartment().calls).toHaveLength(1)
    expect(clock.pending).toBe(0)
  })

  test('leaves the start to the next call', async () => {
    const { clock, world, gate, session } = await starting(sketch)
    const only = session.call(echo('only'), { timeoutMs: 50 })
    await clock.advance(50)
    expect(verdictOf(await only)).toBe('ExecutionTimeout')
    gate.resolve()
    await flush()
    expect(verdictOf(await session.call(echo('next')))).toBe('output')
    expect(world.sandbox.requests).toHaveLength(1)
    expect(world.eventsOf('ToolInvocationSucceeded').map(({ callId }) => callId)).toEqual(['next'])
  })

  test('ends when its signal is aborted', async () => {
    const { clock, world, gate, session } = await starting(sketch)
    const cancel = new AbortController()
    const [cancelled, other] = [session.call(echo('a'), { signal: cancel.signal }), session.call(echo('b'))]
    await flush()
    cancel.abort()
    expect(verdictOf(await cancelled)).toBe('ToolCancelled')
    gate.resolve()
    expect(verdictOf(await other)).toBe('output')
    expect(world.compartment().calls).toHaveLength(1)
    expect(clock.pending).toBe(0)
  })

  test('has the rest of its time to run', async () => {
    const { clock, gate, session } = await starting({
      tools: { echo: { ...sketch.tools!.echo, execute: () => new Promise(() => {}) } },
    })
    const outcome = session.call(echo('c'), { timeoutMs: 100 })
    await clock.advance(60)
    gate.resolve()
    await clock.advance(40)
    expect(await outcome).toMatchObject({
      error: { code: 'ExecutionTimeout' }, metadata: { duration_ms: 100, attempt: 1 },
    })
    expect(clock.pending).toBe(0)
  })
})

test('the time of every waiting call is paused while the start asks a person', async () => {
  const clock = new ManualClock()
  const answer = Promise.withResolvers<{ status: 'accepted'; value: string }>()
  const asks: ExtensionSketch = {
    id: 'asks', phases: { init: async ({ interact }) => { await interact!.password('Password?') } },
    tools: { other: { approvalKey: '{city}', requires: { capabilities: ['interact'] } } },
  }
  const world = createWorld({
    clock, extensions: [asks, { dependsOn: ['asks'], tools: { echo: { approvalKey: '{city}' } } }],
  })
  const session = await world.host.openSession({
    mode: 'yolo', interactor: new ScriptedInteractor(() => answer.promise),
  })
  const first = session.call(echo('first'), { timeoutMs: 50 })
  await clock.advance(1_000)
  const later = [
    session.call(echo('later'), { timeoutMs: 50 }),
    session.call({ ...echo('other'), name: 'other' }, { timeoutMs: 50 }),
  ]
  await clock.advance(1_000)
  answer.resolve({ status: 'accepted', value: 'hunter2' })
  expect((await Promise.all([first, ...later])).map(verdictOf)).toEqual(['output', 'output', 'output'])
  expect(clock.pending).toBe(0)
})
