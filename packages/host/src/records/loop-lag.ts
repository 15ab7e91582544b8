import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { HistogramSnapshot } from './metrics.ts'

/** How much later than planned timers of this process run. In ms, since the host was created. */
export type LoopLag = Pick<HistogramSnapshot, 'count' | 'max' | 'p50' | 'p95' | 'p99'>

const SAMPLED_MS = 20

/** Measures how long the event loop is blocked. Node does it without JavaScript, and a process can end meanwhile. */
export class LoopLagMonitor {
  readonly #delays = monitorEventLoopDelay({ resolution: SAMPLED_MS })

  constructor() {
    this.#delays.enable()
  }

  snapshot(): LoopLag {
    const { count, max } = this.#delays
    if (count === 0) return { count, max: 0, p50: 0, p95: 0, p99: 0 }
    const at = (percent: number): number => lagOf(this.#delays.percentile(percent))
    return { count, max: lagOf(max), p50: at(50), p95: at(95), p99: at(99) }
  }

  /** Idempotent. */
  stop(): void {
    this.#delays.disable()
  }
}

/** Node measures nanoseconds between two samples. */
const lagOf = (ns: number): number => Math.max(0, Math.round(ns / 1e6) - SAMPLED_MS)
