import type { HullAssignment, HullReport } from '../wire/hull-protocol.ts'
import { monotonicMs } from '../wire/monotonic-ms.ts'

const POLL_MS = 50
const CPU_WINDOW_MS = 10_000
const MB = 1024 * 1024
const KB = 1024

/** Looks at what this process uses until it is too much; tells it each time it looks from then on. */
export function watchUsage({ memoryMb, cpuMs }: HullAssignment, tooMuch: (report: HullReport) => void): void {
  /** Of the window, the oldest first: when, and how much had been used until then. */
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
 * Without /proc, as behind bubblewrap, the most it ever was has to do. That is not always known of this process alone: one
 * that was started without a wrapper between has the peak of its parent in it.
 */
function residentBytes(): number {
  try {
    return process.memoryUsage.rss()
  } catch {
    return process.resourceUsage().maxRSS * KB
  }
}
