// Loads the extensions once from the cache, and prints the CPU time.
import type { ExtensionLayer } from '../loads/extension-layer.ts'
import { loadLayer } from '../loads/extension-layer.ts'

export interface WarmStart {
  readonly count: number
  /**
   * CPU time of the load, of the load and reading every manifest, and of the whole process until the load has ended.
   */
  readonly loadMs: number
  readonly readMs: number
  readonly processMs: number
}

const spentMs = (since?: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1_000
}

const layer = JSON.parse(process.argv[2]!) as ExtensionLayer
const before = process.cpuUsage()
const extensions = await loadLayer(layer, true)
const loadMs = spentMs(before)
const processMs = spentMs()
const tools = extensions.flatMap(({ manifest }) => manifest.tools)
const started: WarmStart = { count: tools.length, loadMs, readMs: spentMs(before), processMs }
process.stdout.write(JSON.stringify(started))
