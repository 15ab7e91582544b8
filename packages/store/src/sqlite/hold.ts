// The thread of the audit loads this too: nothing else is imported here.

/** How long another process may hold the file before that is an error. */
export const PATIENCE_MS = 5_000
/** How long it is waited for once it has: whoever asks for many things, one after the other, must not wait that long for each. */
const SHORT_PATIENCE_MS = 100

/** Whether another process keeps the file. It was waited for once; from then on, until it lets go, what is asked is refused soon. */
export class Hold {
  readonly #patienceMs: number
  readonly #now: () => number
  #ranOutAt = -Infinity

  constructor(patienceMs = PATIENCE_MS, now = () => performance.now()) {
    this.#patienceMs = patienceMs
    this.#now = now
  }

  /** How long to wait for the file now. Of what nobody has asked for as long, nobody knows whether it is still held. */
  get patienceMs(): number {
    return this.#now() - this.#ranOutAt < this.#patienceMs ? Math.min(SHORT_PATIENCE_MS, this.#patienceMs) : this.#patienceMs
  }

  /** It was waited for in vain. */
  ranOut(): void {
    this.#ranOutAt = this.#now()
  }

  /** It could be had. */
  end(): void {
    this.#ranOutAt = -Infinity
  }
}
