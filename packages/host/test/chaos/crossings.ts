/** The faults of a port. */
export const FAULT_KINDS = [
  /** Throws instead of returning a promise. */
  'throw',
  'reject',
  /** Rejects with a value that is not an error. */
  'reject-odd',
  /** Never settles. */
  'hang',
  /** Settles normally, but after its caller was cancelled. */
  'late',
  /** A callback is called twice. */
  'twice',
  /** Every thread and process that runs extensions is killed. */
  'kill',
  /** The file of the store is closed. */
  'close-store',
] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

/** One call from the host into a port, or its return. */
export interface Crossing {
  /** For example `store.write out #3`: the third return of a write. */
  readonly at: string
  readonly port: string
  readonly kinds: readonly FaultKind[]
}

export interface Fault {
  readonly at: string
  readonly kind: FaultKind
}

const ASKED: readonly FaultKind[] = ['throw', 'reject', 'reject-odd', 'hang', 'late', 'kill', 'close-store']
const ANSWERED: readonly FaultKind[] = ['reject', 'reject-odd', 'hang', 'late', 'kill', 'close-store']

/** What a stroke does to the world. */
export interface Blows {
  kill(): void
  closeStore(): void
}

/** Counts every crossing of one run, and injects a fault into one of them. */
export class Crossings {
  readonly seen: Crossing[] = []
  readonly fault: Fault | undefined
  readonly #blows: Blows
  readonly #counts = new Map<string, number>()
  readonly #struck = Promise.withResolvers<FaultKind>()
  readonly #released = Promise.withResolvers<void>()
  #isStruck = false

  constructor(fault: Fault | undefined, blows: Blows) {
    this.fault = fault
    this.#blows = blows
  }

  /** Resolves when the fault has happened. */
  get struck(): Promise<FaultKind> {
    return this.#struck.promise
  }

  get isStruck(): boolean {
    return this.#isStruck
  }

  /** Releases what a late fault holds. */
  release(): void {
    this.#released.resolve()
  }

  /** A function that the host waits for. */
  port<Args extends readonly unknown[], Value>(
    port: string, run: (...args: Args) => Promise<Value>,
  ): (...args: Args) => Promise<Value> {
    return (...args) => {
      switch (this.strike(`${port} in`, ASKED)) {
        case 'throw':
          throw chaos()
        case 'reject':
          return Promise.reject(chaos())
        case 'reject-odd':
          return Promise.reject(undefined)
        case 'hang':
          return new Promise(() => {})
        case 'late':
          return this.#released.promise.then(() => run(...args))
        default:
          return this.#settle(port, run(...args))
      }
    }
  }

  /** A function that the host calls and does not wait for. */
  sink<Args extends readonly unknown[]>(port: string, run: (...args: Args) => void): (...args: Args) => void {
    return (...args) => {
      const kind = this.strike(port, ['throw', 'reject', 'reject-odd', 'kill', 'close-store'])
      run(...args)
      if (kind === 'throw') throw chaos()
      if (kind === 'reject') return Promise.reject(chaos()) as unknown as void
      if (kind === 'reject-odd') return Promise.reject(undefined) as unknown as void
    }
  }

  /** Counts a crossing. Returns its fault, if any. */
  strike(name: string, kinds: readonly FaultKind[]): FaultKind | undefined {
    const count = (this.#counts.get(name) ?? 0) + 1
    this.#counts.set(name, count)
    const at = `${name} #${count}`
    this.seen.push({ at, port: name, kinds })
    if (this.fault?.at !== at || !kinds.includes(this.fault.kind)) return undefined
    const { kind } = this.fault
    this.#isStruck = true
    if (kind === 'kill') this.#blows.kill()
    if (kind === 'close-store') this.#blows.closeStore()
    this.#struck.resolve(kind)
    return kind
  }

  async #settle<Value>(port: string, work: Promise<Value>): Promise<Value> {
    try {
      return await work
    } finally {
      await this.#answer(port)
    }
  }

  async #answer(port: string): Promise<void> {
    switch (this.strike(`${port} out`, ANSWERED)) {
      case 'reject':
        throw chaos()
      case 'reject-odd':
        return Promise.reject(undefined)
      case 'hang':
        return new Promise(() => {})
      case 'late':
        return this.#released.promise
      default:
    }
  }
}

const chaos = () => new Error('chaos')
