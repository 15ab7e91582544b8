import { monotonicMs } from '../wire/clock.ts'
import type { HullAssignment, HullReport } from '../wire/protocol.ts'

const POLL_MS = 50
const CPU_WINDOW_MS = 10_000
const MB = 1024 * 1024
const KB = 1024

/** Polls the usage of this process, and reports it at each poll over a limit. */
export function watchUsage({ memoryMb, cpuMs }: HullAssignment, tooMuch: (report: HullReport) => void): void {
  /** Samples of the window, oldest first: the time, and the processor time used until then. */
  const samples: { readonly at: number; readonly cpu: number }[] = [{ at: monotonicMs(), cpu: cpuUsed() }]
  setInterval(() => {
    const memory = residentBytes()
    if (memory > memoryMb * MB) return tooMuch({ type: 'memory', usedMb: Math.round(memory / MB) })
    const now = { at: monotonicMs(), cpu: cpuUsed() }
    samples.push(now)
    while (samples[1]!.at <= now.at - CPU_WINDOW_MS) samples.shift()
    const used = now.cpu - samples[0]!.cpu
    if (used > cpuMs) tooMuch({ type: 'cpu', usedMs: Math.round(used) })
  }, POLL_MS)
}

function cpuUsed(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/**
 * Without /proc, as in bubblewrap, the peak has to do. A process that was started without a wrapper inherits the peak of its
 * parent.
 */
function residentBytes(): number {
  try {
    return process.memoryUsage.rss()
  } catch {
    return process.resourceUsage().maxRSS * KB
  }
}
