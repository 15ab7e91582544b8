import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import type { SoakReport } from '../soak/run.ts'

const main = fileURLToPath(new URL('../soak/main.ts', import.meta.url))
const CALLS = 120

it('settles every call once despite crashes, cancellations and kills, and leaves nothing behind', LONG, async () => {
  // Memory is not checked strictly: the warm-up is too short for the allocator. `pnpm soak` allows a growth of a tenth.
  const argv = [
    '--no-warnings', main, '--calls', String(CALLS), '--compartments', '6', '--warmUp', '60', '--os', 'off',
    '--growth', '1.5',
  ]
  // A failed run prints its report, with the seed to reproduce it.
  const { stdout } = await promisify(execFile)(process.execPath, argv, { timeout: 540_000 })
    .catch((error: { stdout: string }) => error)
  const { settled, opened, killed, ends, faults } = JSON.parse(stdout) as SoakReport
  expect(faults, stdout).toEqual([])
  expect(settled).toBe(CALLS)
  expect(opened).toBeGreaterThan(6)
  expect(ends['answered']).toBeGreaterThan(CALLS / 4)
  for (const way of ['ToolExecutionFailed', 'ToolCancelled', 'ExecutionTimeout']) expect(ends[way], way)
    .toBeGreaterThan(0)
  expect(killed + (ends['CompartmentCrashed'] ?? 0) + (ends['CompartmentKilled'] ?? 0)).toBeGreaterThan(0)
})
