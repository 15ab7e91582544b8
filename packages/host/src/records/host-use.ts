import { cpuUsage, memoryUsage } from 'node:process'
import type { Clock, HostUse } from '@bulkhead/contract'

/** A write into the store each time. */
const EVERY_MS = 10_000

export interface UseSources {
  readonly clock: Clock
  readonly restarts: () => number
  /** The names of those that stand, once one was needed. Must not reject. */
  readonly walls: () => Promise<readonly string[] | undefined>
  /** Called with each measurement. Must not throw. */
  onUse(use: HostUse): void
}

/** Measures this process every ten seconds. It does not keep the process alive. Returns how to stop. */
export function measureHost({ clock, restarts, walls, onUse }: UseSources): () => void {
  let before = { at: clock.monotonic(), used: cpuUsage() }
  let isStopped = false
  const measure = async (): Promise<void> => {
    const names = await walls()
    if (isStopped) return
    const [at, used] = [clock.monotonic(), cpuUsage()]
    const cpuMs = (used.user + used.system - before.used.user - before.used.system) / 1_000
    const cpuShare = cpuMs / Math.max(1, at - before.at)
    before = { at, used }
    onUse({
      at: clock.now(), memoryBytes: memoryUsage.rss(), cpuShare: Math.round(cpuShare * 1_000) / 1_000, restarts: restarts(),
      ...(names && { walls: names }),
    })
  }
  const timer = setInterval(() => void measure(), EVERY_MS).unref()
  return () => {
    isStopped = true
    clearInterval(timer)
  }
}
