import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../scripts/thoroughly.ts'
import type { Latest } from '../src/harness/result.ts'
import { payload } from '../src/loads/echo.ts'
import { guardedCall, hostCall } from '../src/subjects/host-calls.ts'

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const latest = new URL('../latest.json', import.meta.url)
const TIMEOUT_MS = 540_000
/** The timeout is shorter than that of the test, so that a run that hangs leaves no process behind. */
const bench = (...argv: string[]) => promisify(execFile)(process.execPath, [main, ...argv], { timeout: TIMEOUT_MS })
const content = () => readFile(latest, 'utf8').catch(() => undefined)

describe('a guarded call', () => {
  // In `pnpm soak`. The test of the sandbox runs a subject from the command line here.
  it.each(thoroughly([], [['host-audit', 'host-call']]))(
    '%s and %s run with every side from the command line',
    async (...tried) => {
      const before = await content()
      const { stdout } = await bench(...tried, '--quick', '--json')
      const { subjects } = JSON.parse(stdout) as Latest
      expect(Object.keys(subjects)).toEqual(tried)
      expect(subjects['host-call']?.sides.map(({ name }) => name)).toEqual(hostCall.sides.map(({ name }) => name))
      for (const side of Object.values(subjects).flatMap(({ sides }) => sides)) {
        expect(side.measures.map(({ measure }) => measure)).toEqual(['p50', 'p99', '64-way'])
        for (const { value } of side.measures) expect(value).toBeGreaterThan(1)
      }
      expect(await content()).toBe(before)
    },
  )

  it('runs in a project with the requested number of tools', LONG, async () => {
    const runner = await guardedCall({
      name: 'it', placement: 'thread', tools: thoroughly(10, 250), audit: false,
    }).start()
    expect(await runner.run(7)).toEqual(payload(7))
    await runner.stop()
  })

  it('an unknown subject fails with the known names', async () => {
    await expect(bench('host-calls')).rejects.toMatchObject({
      code: 2, stdout: '', stderr: expect.stringContaining('host-call'),
    })
  })
})
