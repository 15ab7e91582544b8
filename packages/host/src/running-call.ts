import { BulkheadError, type Clock, type Json } from '@bulkhead/contract'
import type { ClearedCall } from './call.ts'
import { Deadline } from './deadline.ts'
import { identityOf } from './interaction/paused-calls.ts'
import { QuestionLog } from './interaction/question-log.ts'

/** How an attempt ends. Called once, by one of the two. */
interface Ends {
  answered(value: Json): void
  failed(reason: unknown): void
}

/**
 * A call while its tool runs: one attempt, and whom the compartment's questions on its behalf go to. It ends once: by the answer,
 * by its deadline, with the call, or by whoever ends it.
 */
export class RunningCall {
  readonly call: ClearedCall
  readonly deadline: Deadline
  readonly #ending = new AbortController()
  readonly #forget: () => void
  #ends: Ends | undefined
  #questions: QuestionLog | undefined

  /** `leftMs`: of the time of the call, for this attempt. */
  constructor(call: ClearedCall, clock: Clock, leftMs: number, ends: Ends) {
    const { tool, timeoutMs = tool.timeoutMs } = call
    this.call = call
    this.#ends = ends
    this.deadline = new Deadline(clock, leftMs, () => this.end(overdue(tool.name, timeoutMs)))
    this.#forget = call.scope.cancel.onCancel((reason) => this.end(reason))
  }

  /** Aborted when this attempt is over, whatever ends it early. */
  get signal(): AbortSignal {
    return this.#ending.signal
  }

  /** What it was told before it paused; another tool than the one that asked is told nothing. */
  get questions(): QuestionLog {
    if (this.#questions === undefined) {
      const { resumption } = this.call.scope
      this.#questions = new QuestionLog(resumption !== undefined && resumption.identity === identityOf(this.call) ? resumption.asked : [])
    }
    return this.#questions
  }

  /** Ends it with a reason; too late, it does nothing. */
  end(reason: BulkheadError): void {
    const ends = this.#close()
    if (ends === undefined) return
    this.#ending.abort(reason)
    ends.failed(reason)
  }

  answered(value: Json): void {
    this.#close()?.answered(value)
  }

  failed(thrown: unknown): void {
    this.#close()?.failed(thrown)
  }

  #close(): Ends | undefined {
    const ends = this.#ends
    if (ends === undefined) return undefined
    this.#ends = undefined
    this.deadline.stop()
    this.#forget()
    return ends
  }
}

/** Stops the time of a call, and of those that wait for it. Returns what lets it go on. */
export function pauseFor({ call, deadline }: RunningCall): () => void {
  const resumes = [deadline.pause(), call.parent?.pause()]
  return () => {
    for (const resume of resumes) resume?.()
  }
}

const overdue = (tool: string, timeoutMs: number) =>
  new BulkheadError('ExecutionTimeout', `The tool "${tool}" did not answer within ${timeoutMs} ms.`, { data: { timeoutMs } })
