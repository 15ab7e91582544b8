/** To listen to a signal and stop again takes a tenth of the time of a short call, and most calls are over before this. */
const UNHEARD_MS = 5

/** Those that do not listen yet, and some that are over. */
let young: AbortWatch[] = []
let lookingSoon: NodeJS.Timeout | undefined

function lookAtAll(): void {
  const watches = young
  young = []
  lookingSoon = undefined
  for (const watch of watches) watch.listen()
}

/** Tells once that a signal was aborted; in its first five milliseconds not before they are over, unless it is made to look. */
export class AbortWatch {
  readonly #signal: AbortSignal
  readonly #aborted: () => void
  #over = false
  #listening = false

  constructor(signal: AbortSignal, aborted: () => void) {
    this.#signal = signal
    this.#aborted = aborted
    young.push(this)
    lookingSoon ??= setTimeout(lookAtAll, UNHEARD_MS).unref()
  }

  look(): void {
    if (this.#signal.aborted) this.handleEvent()
  }

  listen(): void {
    this.look()
    if (this.#over) return
    this.#listening = true
    this.#signal.addEventListener('abort', this, { once: true })
  }

  /** As listeners are called. */
  handleEvent(): void {
    if (this.#over) return
    this.#over = true
    this.#aborted()
  }

  /** Idempotent. Afterwards it tells nothing. */
  stop(): void {
    this.#over = true
    if (this.#listening) this.#signal.removeEventListener('abort', this)
  }
}
