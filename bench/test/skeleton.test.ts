import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { Latest } from '../src/harness/latest.ts'
import { subject } from '../src/subjects/skeleton.ts'

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const latest = new URL('../latest.json', import.meta.url)
const PATIENCE_MS = 60_000
/** Ended before the test is, so that a run that hangs fails here and leaves no process behind. */
const bench = (...argv: string[]) => promisify(execFile)(process.execPath, [main, ...argv], { timeout: PATIENCE_MS })
const content = () => readFile(latest, 'utf8').catch(() => undefined)

describe('the skeleton', { timeout: PATIENCE_MS + 5_000 }, () => {
  it('runs every side for real, from the command line', async () => {
    const before = await content()
    const { stdout } = await bench('skeleton', '--quick', '--json')
    const { subjects } = JSON.parse(stdout) as Latest
    expect(Object.keys(subjects)).toEqual(['skeleton'])
    expect(subjects['skeleton']?.sides.map(({ name }) => name)).toEqual(subject.sides.map(({ name }) => name))
    for (const side of subjects['skeleton']?.sides ?? []) {
      expect(side.measures.map(({ measure }) => measure)).toEqual(['p50', 'p99', '64-way'])
      for (const { value } of side.measures) expect(value).toBeGreaterThan(1)
    }
    expect(await content()).toBe(before)
  })

  it('is told apart from names that do not exist', async () => {
    await expect(bench('skeletons')).rejects.toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('skeleton') })
  })
})
