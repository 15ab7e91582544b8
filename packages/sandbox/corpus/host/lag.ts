const PERIOD_MS = 10

/** How long the event loop of this process did not turn, at worst, since it was last asked. */
export class LagMeter {
  #worst = 0
  #last = performance.now()

  constructor() {
    setInterval(() => {
      this.#measure()
    }, PERIOD_MS).unref()
  }

  take(): number {
    this.#measure()
    const worst = this.#worst
    this.#worst = 0
    return Math.round(worst)
  }

  #measure(): void {
    const now = performance.now()
    this.#worst = Math.max(this.#worst, now - this.#last - PERIOD_MS)
    this.#last = now
  }
}
