import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** The resources that this process holds. */
export interface Traces {
  readonly processes: number
  readonly threads: number
  readonly descriptors: number
  /** Ports, timers, sockets and other active resources, by kind. */
  readonly resources: Readonly<Record<string, number>>
  readonly listeners: number
  readonly heapMb: number
  /**
   * The most that was resident. What is resident now varies by a third: the allocator keeps memory that ended threads
   * have freed.
   */
  readonly peakMb: number
}

const MB = 1024 * 1024
const PATIENCE_MS = 10_000

/** All child processes, with the children of children. */
export function descendants(pid = process.pid): readonly number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
    return children.flatMap((child) => [child, ...descendants(child)])
  } catch {
    return []
  }
}

/** The flag is not set for the whole process: a thread with a global `gc` is not used as a compartment. */
function collector(): () => void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  setFlagsFromString('--no-expose-gc')
  return collect
}
const collectGarbage = collector()

function look(): Traces {
  const resources: Record<string, number> = {}
  for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return {
    processes: descendants().length,
    threads: readdirSync('/proc/self/task').length,
    descriptors: readdirSync('/proc/self/fd').length,
    resources,
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
    heapMb: (heapUsed + external) / MB,
    peakMb: process.resourceUsage().maxRSS / 1024,
  }
}

/** The resources that leaked, each as a sentence. Memory may be up to `growth` times as much as before. */
export function leftovers(before: Traces, after: Traces, growth: number): readonly string[] {
  const more = (name: 'processes' | 'threads' | 'descriptors' | 'listeners'): string[] =>
    after[name] > before[name] ? [`${after[name] - before[name]} more ${name}`] : []
  const kinds = Object.entries(after.resources).filter(([kind, count]) => count > (before.resources[kind] ?? 0))
  const grown = (['heapMb', 'peakMb'] as const).filter((name) => after[name] > before[name] * growth)
  return [
    ...more('processes'), ...more('threads'), ...more('descriptors'), ...more('listeners'),
    ...kinds.map(([kind, count]) => `${count - (before.resources[kind] ?? 0)} more ${kind}`),
    ...grown.map((name) => `${name} went from ${before[name].toFixed(1)} to ${after[name].toFixed(1)}`),
  ]
}

/** The resources when they no longer decrease: a thread takes a while to end. */
export async function tracesLeft(before?: Traces, growth = 1): Promise<Traces> {
  const until = performance.now() + PATIENCE_MS
  for (;;) {
    await sleep(100)
    const traces = look()
    const isOver = before === undefined || leftovers(before, traces, growth).length === 0
    if (isOver || performance.now() > until) return traces
  }
}
