import { afterEach, expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import type { EmptyHull } from '../../src/process/hull.ts'
import { loadImage } from '../../src/process/image.ts'
import { processStarter } from '../../src/process/process-hull.ts'
import { detectOsLayers, withoutLayers } from '../../src/os/os-layers.ts'
import type { OsLayers } from '../../src/os/os-layer.ts'
import { missingWall } from '../../src/os/standing-walls.ts'
import { layersWithoutBubblewrap } from './run-under-layers.ts'

const here = await detectOsLayers()
const bare = withoutLayers('for a test')
const SHAPE = { heapMb: 32, memoryMb: 128 }

const started: EmptyHull[] = []
afterEach(async () => {
  for (const hull of started) hull.kill()
  await Promise.all(started.splice(0).map(({ exited }) => exited))
})

/** A hull behind these walls that is locked down. */
async function hullBehind(layers: OsLayers): Promise<number> {
  const hull = processStarter(await loadImage(), layers)(SHAPE, false)
  started.push(hull)
  expect(await hull.ready).toBe(true)
  return hull.pid!
}

it('a hull behind the walls of this machine has them', async () => {
  expect(missingWall(await hullBehind(here), here)).toBeUndefined()
})

it('a hull behind the walls that stand without bubblewrap has them', LONG, async () => {
  const layers = await layersWithoutBubblewrap()
  expect(missingWall(await hullBehind(layers), layers)).toBeUndefined()
})

it('a hull without walls lacks each wall that stands here', async () => {
  const pid = await hullBehind(bare)
  expect(missingWall(pid, bare)).toBeUndefined()
  const names = (['rlimits', 'bubblewrap', 'seccomp', 'launcher', 'utilLinux'] as const)
    .filter((name) => here[name].active)
  for (const name of names) {
    expect([name, missingWall(pid, { ...bare, [name]: here[name] })]).toEqual([name, expect.any(String)])
  }
  expect(names.length > 0 || process.platform !== 'linux').toBe(true)
})

it('a process that has ended has none', async () => {
  const pid = await hullBehind(bare)
  const [hull] = started
  hull!.kill()
  await hull!.exited
  expect(missingWall(pid, bare)).toBe('its process cannot be examined')
})
