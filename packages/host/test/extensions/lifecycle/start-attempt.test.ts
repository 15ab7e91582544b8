import type { CompartmentSession } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { flush, ManualClock } from '../../twin/clock.ts'
import { ScriptedInteractor } from '../../twin/people.ts'
import { createWorld, verdictOf } from '../../twin/world.ts'

const CALL = { id: 'c', name: 'echo', arguments: {} }
const LONGEST_MS = 40_000
/** So that the start ends before the calls that wait for it. */
const PATIENT = { timeoutMs: 2 * LONGEST_MS }

test('a compartment that never opens fails the waiting calls, and the next call tries again', async () => {
  const clock = new ManualClock()
  const world = createWorld({ clock })
  const session = await world.host.openSession({ mode: 'yolo' })
  const { open } = world.sandbox
  const late = Promise.withResolvers<CompartmentSession>()
  world.sandbox.open = () => late.promise
  const waiting = Promise.all([session.call(CALL, PATIENT), session.call({ ...CALL, id: 'd' }, PATIENT)])
  await clock.advance(LONGEST_MS)
  expect((await waiting).map(verdictOf)).toEqual(['CompartmentStartFailed', 'CompartmentStartFailed'])
  world.sandbox.open = open
  expect(verdictOf(await session.call(CALL))).toBe('output')
  late.resolve(await open.call(world.sandbox, world.sandbox.requests.at(-1)!))
  await flush()
  expect(world.sandbox.alive).toHaveLength(1)
  await world.host.close()
  expect(world.sandbox.alive).toEqual([])
  expect(clock.pending).toBe(0)
})

test.each(['init', 'activate'] as const)('a phase %s that never ends fails the waiting calls', async (phase) => {
  const clock = new ManualClock()
  const world = createWorld({ clock, extensions: [{ phases: { [phase]: () => new Promise<void>(() => {}) } }] })
  const session = await world.host.openSession({ mode: 'yolo' })
  const waiting = session.call(CALL, PATIENT)
  await clock.advance(LONGEST_MS)
  expect(verdictOf(await waiting)).toBe(phase === 'init' ? 'CompartmentStartFailed' : 'LifecycleTimeout')
  expect(world.sandbox.alive).toEqual([])
})

test.each(['deactivate', 'dispose'] as const)(
  'a phase %s that never ends does not block the close of the host',
  async (phase) => {
    const clock = new ManualClock()
    const world = createWorld({ clock, extensions: [{ phases: { [phase]: () => new Promise<void>(() => {}) } }] })
    await (await world.host.openSession({ mode: 'yolo' })).call(CALL)
    const closed = world.host.close()
    await clock.advance(LONGEST_MS)
    expect(await closed).toMatchObject({ faults: [{ error: { code: 'LifecycleTimeout' } }] })
    expect(world.sandbox.alive).toEqual([])
  },
)

test('the time of a start is paused while a person is asked', async () => {
  const clock = new ManualClock()
  const answer = Promise.withResolvers<{ status: 'accepted'; value: string }>()
  const world = createWorld({
    clock,
    extensions: [{
      phases: { init: async ({ interact }) => { await interact!.password('Password?') } },
      tools: { echo: { requires: { capabilities: ['interact'] } } },
    }],
  })
  const interactor = new ScriptedInteractor(() => answer.promise)
  const session = await world.host.openSession({ mode: 'yolo', interactor })
  const waiting = session.call(CALL)
  await clock.advance(10 * LONGEST_MS)
  answer.resolve({ status: 'accepted', value: 'hunter2' })
  expect(verdictOf(await waiting)).toBe('output')
})
