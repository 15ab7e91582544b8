import { BulkheadError } from '@bulkhead/contract'

/** What was not done, because something before it hung. Its message says so. */
export class OutOfTime extends Error {}

/** How long a run waits, in all, for what hangs. Calls that end do not count, so a slow machine costs nothing. */
const PATIENCE_MS = 30_000

/** Deadlines of the sandbox. */
const DEADLINES: ReadonlySet<string> = new Set(['LifecycleTimeout', 'CompartmentStartTimeout'])

const seconds = (ms: number): string => `${Number((ms / 1_000).toFixed(1))} s`

/** The time that a run has for calls that hang. */
export class Patience {
  readonly #allMs: number
  #leftMs: number
  /** Calls that hang at the same time count once. */
  #countedUntil = 0
  #reason: string | undefined

  constructor(ms: number = PATIENCE_MS) {
    this.#allMs = ms
    this.#leftMs = ms
  }

  /** Why nothing more is run. undefined: there is time. */
  get reason(): string | undefined {
    return this.#reason
  }

  /** Throws OutOfTime. */
  require(): void {
    if (this.#reason !== undefined) throw new OutOfTime(this.#reason)
  }

  /** Ends the run: what hung lets nothing else run. */
  end(what: string): void {
    this.#reason ??= `not run for lack of time: ${what}`
  }

  /**
   * Waits for one call. Its signal is aborted with ExecutionTimeout after `timeoutMs`. Rejects with OutOfTime if the
   * run had less time left than that.
   */
  async wait<Value>(
    what: string, timeoutMs: number, work: (signal: AbortSignal) => Promise<Value>,
  ): Promise<Value> {
    this.require()
    const grantedMs = Math.min(timeoutMs, this.#leftMs)
    const isCut = grantedMs < timeoutMs
    const deadline = new AbortController()
    const began = performance.now()
    let hung = false
    const timer = setTimeout(() => {
      hung = true
      this.#count(began, what)
      deadline.abort(new BulkheadError('ExecutionTimeout', `The call took longer than ${timeoutMs} ms.`))
    }, grantedMs)
    try {
      return await work(deadline.signal)
    } finally {
      clearTimeout(timer)
      if (hung && isCut) this.require()
    }
  }

  /** Runs what the sandbox gives a deadline. Counts its time if it takes longer than that. */
  async watch<Value>(what: string, work: () => Promise<Value>): Promise<Value> {
    const began = performance.now()
    try {
      return await work()
    } catch (thrown) {
      if (BulkheadError.is(thrown) && DEADLINES.has(thrown.code)) this.#count(began, what)
      throw thrown
    }
  }

  #count(began: number, what: string): void {
    const now = performance.now()
    this.#leftMs -= now - Math.max(began, this.#countedUntil)
    this.#countedUntil = now
    // The last millisecond is not worth a call.
    if (this.#leftMs < 1) this.end(`${what} hung, and the suite waits ${seconds(this.#allMs)} for what hangs`)
  }
}
