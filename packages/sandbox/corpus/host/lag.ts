const PERIOD_MS = 10

/**
 * What this thread took of the processor: at worst between two turns of its event loop since it was last asked, and as a share of the
 * time that has passed. Other processes that share the machine do not add to it.
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

  /** Since this was last asked: from 0 to 1. */
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
