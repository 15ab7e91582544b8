import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { LONG, thoroughly } from '../../scripts/thoroughly.ts'
import type { Latest } from '../src/harness/result.ts'
import { awakeThread, hullShare, residentHull } from '../src/subjects/sandbox-memory.ts'

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const TIMEOUT_MS = 540_000

it('runs every side of calls and starts, and computes each ratio', LONG, async () => {
  const tried = thoroughly(['sandbox-small'], ['sandbox-large', 'sandbox-small', 'sandbox-start'])
  const argv = [main, ...tried, '--quick', '--json']
  const { stdout } = await promisify(execFile)(process.execPath, argv, { timeout: TIMEOUT_MS })
  const { subjects } = JSON.parse(stdout) as Latest
  expect(Object.keys(subjects)).toEqual(tried)
  for (const [name, { sides, ratios }] of Object.entries(subjects)) {
    expect(sides).toHaveLength(6)
    for (const { measures } of sides) for (const { value } of measures) expect(value).toBeGreaterThan(1)
    if (name !== 'sandbox-large') expect(ratios.length).toBeGreaterThan(3)
    for (const { median } of ratios) expect(median).toBeGreaterThan(0)
  }
})

const [awake, ...hulls] = [[awakeThread, 0.1, 64], [hullShare, 5, 512], [residentHull, 10, 512]] as const
it.each(thoroughly([], [awake, ...hulls]))('reads the idle memory of %o', async (side, least, most) => {
  const runner = await side.start()
  const megabytes = await runner.megabytes?.()
  expect(megabytes).toBeGreaterThan(least)
  expect(megabytes).toBeLessThan(most)
  await runner.stop()
})
