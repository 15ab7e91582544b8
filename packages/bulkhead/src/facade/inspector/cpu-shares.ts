interface Known {
  readonly at: number
  readonly cpuMs: number
  readonly share: number | undefined
}

/** With less time in between, a share says little. */
const LEAST_MS = 500

/** Processor time as a share of the time that passed, by what used it. */
export class CpuShares {
  #known = new Map<string, Known>()
  #next = new Map<string, Known>()

  /** Since the view before; undefined for the first one. */
  of(key: string, cpuMs: number, now = performance.now()): number | undefined {
    const before = this.#known.get(key)
    const passed = before && now - before.at
    const isNew = before === undefined || cpuMs < before.cpuMs
    const next: Known = isNew ? { at: now, cpuMs, share: undefined }
      : passed! < LEAST_MS ? before : { at: now, cpuMs, share: (cpuMs - before.cpuMs) / passed! }
    this.#next.set(key, next)
    return next.share
  }

  /** Forgets what was not asked for since this was called last. */
  swap(): void {
    this.#known = this.#next
    this.#next = new Map()
  }
}
