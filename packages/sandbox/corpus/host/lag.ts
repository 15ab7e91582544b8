const PERIOD_MS = 10

/**
 * Measures the processor time of this thread: the longest turn of its event loop, and its share of the elapsed time.
 * Other processes on the machine do not count.
 */
export class LagMeter {
  #worst = 0
  #last = cpuMs()
  #began = { cpu: this.#last, at: performance.now() }

  constructor() {
    setInterval(() => {
      this.#measure()
    }, PERIOD_MS).unref()
  }

  /** In ms. */
  take(): number {
    this.#measure()
    const worst = this.#worst
    this.#worst = 0
    return Math.round(worst)
  }

  /** Since the last call: from 0 to 1. */
  takeShare(): number {
    const now = { cpu: cpuMs(), at: performance.now() }
    const { cpu, at } = this.#began
    this.#began = now
    return now.at === at ? 0 : (now.cpu - cpu) / (now.at - at)
  }

  #measure(): void {
    const now = cpuMs()
    this.#worst = Math.max(this.#worst, now - this.#last)
    this.#last = now
  }
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
