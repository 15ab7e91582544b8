// Loads a forest once from what is remembered, and prints what time the processors of the machine spent on it.
import type { Forest } from '../loads/extension-forest.ts'
import { loadForest } from '../loads/extension-forest.ts'

export interface WarmStart {
  readonly count: number
  /** From before the load until it has resolved; with every manifest read after it; and all of the process until then. */
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
