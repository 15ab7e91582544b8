import { expect, test } from 'vitest'
import type { Sidecar } from '../../src/index.ts'
import { ManualClock } from '../twin/clock.ts'
import { sidecarWithTimeout } from '../../src/records/timeouts.ts'
import { createWorld } from '../twin/world.ts'

const CALL = { id: 'c', name: 'echo', arguments: { text: 'x'.repeat(3_000) } }

async function called(sidecar: Sidecar) {
  const clock = new ManualClock()
  const world = createWorld({ clock, sidecar, extensions: [{ tools: { echo: { maxOutput: '1KB' } } }] })
  const session = await world.host.openSession({ mode: 'yolo' })
  const outcome = session.call(CALL)
  await clock.advance(10_000)
  const closed = session.close()
  await clock.advance(10_000)
  await closed
  return {
    outcome: await outcome, faults: world.eventsOf('SuppressedError').map(({ source }) => source),
    pending: clock.pending,
  }
}

test.each<[string, Sidecar]>([
  ['never answers', { save: () => new Promise(() => {}), discard: () => new Promise(() => {}) }],
  ['throws', { save: () => { throw new Error('no') }, discard: () => { throw new Error('no') } }],
  ['rejects with nothing', { save: () => Promise.reject(undefined), discard: () => Promise.reject(undefined) }],
])('if a sidecar %s, the outcome has the truncated result, and the session closes', async (_, sidecar) => {
  const { outcome, faults, pending } = await called(sidecar)
  expect(outcome).toMatchObject({ type: 'output', metadata: { truncated: true } })
  expect(outcome.metadata).not.toHaveProperty('output_path')
  expect(faults).toEqual(['sidecar', 'sidecar'])
  expect(pending).toBe(0)
})

test('a session has its own limit of saved bytes', async () => {
  const saved: string[] = []
  const sidecar = sidecarWithTimeout(
    { save: async (_session, callId) => `/${saved.push(callId)}` }, new ManualClock(), 1_000,
  )
  await sidecar.save('one', 'a', 'x'.repeat(600))
  await expect(sidecar.save('one', 'b', 'x'.repeat(401))).rejects.toMatchObject({
    code: 'TooManyBytesSaved', data: { limit: 'sessionSavedBytes' },
  })
  await sidecar.save('one', 'c', 'x'.repeat(400))
  await sidecar.save('two', 'd', 'x'.repeat(1_000))
  await sidecar.discard('one')
  await sidecar.save('one', 'e', 'x'.repeat(1_000))
  expect(saved).toEqual(['a', 'c', 'd', 'e'])
})

test('one result is saved up to savedBytes', async () => {
  const saved: string[] = []
  const sidecar: Sidecar = { save: async (_session, callId) => `/${saved.push(callId)}` }
  const world = createWorld({
    sidecar, config: { limits: { savedBytes: 2_000 } }, extensions: [{ tools: { echo: { maxOutput: '1KB' } } }],
  })
  const session = await world.host.openSession({ mode: 'yolo' })
  const outcomes = [await session.call(CALL), await session.call({ ...CALL, arguments: { text: 'x'.repeat(1_500) } })]
  expect(outcomes.map(({ metadata }) => [metadata.truncated, metadata.output_path])).toEqual([
    [true, undefined], [true, '/1'],
  ])
})

test('the duration of a call includes the time to save its result', async () => {
  const clock = new ManualClock()
  const save = async (): Promise<string> => {
    await clock.advance(70)
    return '/whole'
  }
  const world = createWorld({ clock, sidecar: { save }, extensions: [{ tools: { echo: { maxOutput: '1KB' } } }] })
  const session = await world.host.openSession({ mode: 'yolo' })
  const outcome = await session.call({ id: '1', name: 'echo', arguments: { text: 'x'.repeat(4_000) } })
  expect(outcome.metadata).toMatchObject({ truncated: true, output_path: '/whole', duration_ms: 70 })
})
