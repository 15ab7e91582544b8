import { expect, test } from 'vitest'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { HomeFixture } from '../home-fixture.ts'
import { dieAtWrites, installIn, NEW, OLD, stateOf } from './die-at-writes.ts'
import { folderOf, install, installerFor, packageFiles } from './install-fixture.ts'

test('leaves the previous or the new state when it stops at any write', LONG, async () => {
  // Tests a sample that differs on each run. `pnpm soak` tests every write.
  expect(await dieAtWrites(5)).toBeGreaterThan(3)
})

test('leaves the previous or the new state when the process is killed', async () => {
  using home = new HomeFixture()
  const [newer, older] = [packageFiles('1.0.1'), packageFiles('1.0.0')]
  const specs = [folderOf(home, newer, 'newer'), '-weather', folderOf(home, older, 'older')].join()
  await install(installerFor(home), './older')
  expect((await installIn(home, specs, '9')).signal).toBe('SIGKILL')
  expect(await stateOf(home)).toBe(OLD)
  // `pnpm soak` also kills it at any time, not only at a write.
  let whole: number | undefined
  for (const part of thoroughly([], [0.5, 0.7, 0.8, 0.9])) {
    const began = performance.now()
    if (whole === undefined) expect((await installIn(home, specs, '0')).signal).toBeNull()
    whole ??= performance.now() - began
    await installIn(home, specs, '0', whole * (part + 0.1 * Math.random()))
    expect(['', OLD, NEW]).toContain(await stateOf(home))
  }
})

test('runs concurrent installations one after the other', LONG, async () => {
  using home = new HomeFixture()
  folderOf(home, packageFiles('1.0.0'), 'one')
  folderOf(
    home,
    packageFiles('1.0.0', [], {
      id: 'storms', tools: [{ name: 'storm', description: 'x', inputSchema: { type: 'object' } }],
    }),
    'two',
  )
  const ended = await Promise.all([installIn(home, './one', '0'), installIn(home, './two', '0')])
  expect(ended.map(({ signal }) => signal)).toEqual([null, null])
  expect(await stateOf(home)).toBe('storms@1.0.0 verified,weather@1.0.0 verified')
})
