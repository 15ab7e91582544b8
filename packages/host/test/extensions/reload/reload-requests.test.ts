import { expect, test } from 'vitest'
import { ManualClock } from '../../twin/clock.ts'
import { createWorld } from '../../twin/world.ts'
import { running, version } from './versions.ts'

test('many changes cause one reload, and so do concurrent requests', async () => {
  const clock = new ManualClock()
  let loads = 0
  const world = createWorld({ clock, extensions: [version(1)] })
  const report = world.find({ extensions: [version(2)] })
  const stirs: (() => void)[] = []
  const source = {
    load: async () => { loads++; return report },
    watch: (changed: () => void) => { stirs.push(changed); return () => { stirs.length = 0 } },
  }
  const watched = createWorld({ clock, extensions: [version(1)], source })
  for (let i = 0; i < 500; i++) {
    stirs[0]!()
    await clock.advance(1)
  }
  expect(loads).toBe(0)
  await clock.advance(150)
  expect(loads).toBe(1)
  expect(watched.host.tool('echo')?.version).toBe('2.0.0')
  await Promise.all(Array.from({ length: 20 }, () => watched.host.reload()))
  expect(loads).toBe(2)
  await watched.host.close()
  expect(stirs).toEqual([])
})

test('endless changes cause reloads at intervals', async () => {
  const clock = new ManualClock()
  const world = createWorld({ clock, extensions: [version(1)] })
  world.find({ extensions: [version(2)] })
  for (let ms = 0; ms < 2_100; ms += 50) {
    world.stir()
    await clock.advance(50)
  }
  expect(world.host.tool('echo')?.version).toBe('2.0.0')
})

test('a source that fails changes nothing', async () => {
  const world = createWorld({ extensions: [version(1)], source: { load: async () => { throw new Error('disk') } } })
  await expect(world.host.reload()).rejects.toThrow('disk')
  expect((await running(world)).first).toBe('v1')
})

test('a host without a source accepts a report', async () => {
  const world = createWorld({ extensions: [version(1)] })
  const report = world.find({ extensions: [version(2)] })
  const bare = createWorld({ extensions: [version(1)], source: undefined as never })
  await expect(bare.host.reload()).rejects.toMatchObject({ code: 'ReloadRefused' })
  expect((await bare.host.reload({ report })).changes).toMatchObject([{ result: 'reloaded', generation: 2 }])
})

test.each<[string, () => void]>([
  ['throws', () => { throw new Error('still there') }],
  ['rejects', async () => { throw new Error('still there') }],
])('a watch whose disposer %s is reported, and does not block the host', async (_, stopWatching) => {
  const world = createWorld({ source: { load: () => Promise.reject(new Error('never')), watch: () => stopWatching } })
  await (await world.host.openSession({ mode: 'yolo' })).call({ id: 'a', name: 'echo', arguments: {} })
  expect(await world.host.close()).toMatchObject({ stopped: ['sample'], faults: [] })
  expect(world.eventsOf('SuppressedError')).toMatchObject([{ source: 'the end of watching', message: 'still there' }])
  expect(world.sandbox.alive).toEqual([])
})
