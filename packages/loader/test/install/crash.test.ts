import { expect, test } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { HomeFixture } from '../home-fixture.ts'
import { dieAtWrites, installIn, NEW, OLD, stateOf } from './die-at-writes.ts'
import { folderOf, install, installerFor, packageFiles } from './install-fixture.ts'

test('ended at any write, the previous state is whole, or the new one is', async () => {
  // A sample, from another write on each time: `pnpm soak` tries every write.
  expect(await dieAtWrites(5)).toBeGreaterThan(3)
})

test('killed for good at a write, and at any moment, likewise', async () => {
  using home = new HomeFixture()
  const specs = [folderOf(home, packageFiles('1.0.1'), 'newer'), '-weather', folderOf(home, packageFiles('1.0.0'), 'older')].join()
  await install(installerFor(home), './older')
  const began = performance.now()
  expect((await installIn(home, specs, '0')).signal).toBeNull()
  const whole = performance.now() - began
  expect((await installIn(home, specs, '9')).signal).toBe('SIGKILL')
  expect(await stateOf(home)).toBe(OLD)
  for (const part of thoroughly([0.8], [0.5, 0.7, 0.8, 0.9])) {
    await installIn(home, specs, '0', whole * (part + 0.1 * Math.random()))
    expect(['', OLD, NEW]).toContain(await stateOf(home))
  }
})

test('two at once: one waits for the other', async () => {
  using home = new HomeFixture()
  folderOf(home, packageFiles('1.0.0'), 'one')
  folderOf(home, packageFiles('1.0.0', [], { id: 'storms', tools: [{ name: 'storm', description: 'x', inputSchema: { type: 'object' } }] }), 'two')
  const ended = await Promise.all([installIn(home, './one', '0'), installIn(home, './two', '0')])
  expect(ended.map(({ signal }) => signal)).toEqual([null, null])
  expect(await stateOf(home)).toBe('storms@1.0.0 verified,weather@1.0.0 verified')
})
