// Loads the extensions once from the cache, and prints the CPU time.
import type { Forest } from '../loads/extension-forest.ts'
import { loadForest } from '../loads/extension-forest.ts'

export interface WarmStart {
  readonly count: number
  /** CPU time of the load, of the load and reading every manifest, and of the whole process until the load has ended. */
  readonly loadMs: number
  readonly readMs: number
  readonly processMs: number
}

const spentMs = (since?: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1_000
}

const forest = JSON.parse(process.argv[2]!) as Forest
const before = process.cpuUsage()
const extensions = await loadForest(forest, true)
const loadMs = spentMs(before)
const processMs = spentMs()
const tools = extensions.flatMap(({ manifest }) => manifest.tools)
const started: WarmStart = { count: tools.length, loadMs, readMs: spentMs(before), processMs }
process.stdout.write(JSON.stringify(started))
