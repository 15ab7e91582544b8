import type { BulkheadError, PipeResult } from '@bulkhead/contract'
import type { Run } from '../run.ts'

type StartStage = (index: number) => Run

/** Several runs, each fed by the one before, from their start until nothing of any is left. */
export class Pipeline {
  /** Settles once. */
  readonly result: Promise<PipeResult>
  /** Never rejects. */
  readonly gone: Promise<void>
  readonly #runs: readonly Run[]
  #timer: NodeJS.Timeout | undefined
  #timedOut = false

  /** Contract: throws when one cannot be started, with those before it ended. */
  constructor(count: number, start: StartStage, timeoutMs: number | undefined) {
    this.#runs = startAll(count, start)
    this.gone = Promise.all(this.#runs.map(({ gone }) => gone)).then(() => undefined)
    this.result = this.#finish()
    this.result.catch(() => undefined)
    if (timeoutMs !== undefined) {
      this.#timer = setTimeout(() => {
        this.#timedOut = true
        for (const run of this.#runs) run.interrupt()
      }, timeoutMs)
    }
  }

  /** Idempotent. */
  end(reason: BulkheadError): void {
    for (const run of this.#runs) run.end(reason)
  }

  async #finish(): Promise<PipeResult> {
    try {
      const results = await Promise.all(this.#runs.map(({ result }) => result))
      return {
        exits: results.map(({ exitCode, signal }) => ({ exitCode, signal })),
        stdout: results.at(-1)!.stdout,
        stderr: results.map(({ stderr }) => stderr).join(''),
        truncated: results.some(({ truncated }) => truncated),
        timedOut: this.#timedOut,
      }
    } finally {
      clearTimeout(this.#timer)
    }
  }
}

function startAll(count: number, start: StartStage): readonly Run[] {
  const runs: Run[] = []
  try {
    for (let index = 0; index < count; index++) runs.push(start(index))
    return runs
  } catch (error) {
    for (const run of runs) run.end(error as BulkheadError)
    throw error
  }
}
