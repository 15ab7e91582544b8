import type { BulkheadError, CompartmentSession, Power, ToolInvocation } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { eventFields, type ClearedCall } from '../policy/call.ts'
import { Deadline } from '../model/deadline.ts'
import { overdue } from '../extensions/lifecycle/start.ts'
import { passUpdate } from './updates.ts'
import type { HostContext } from '../policy/host-context.ts'
import { identityOf } from '../policy/interaction/paused-calls.ts'
import { QuestionLog } from '../policy/interaction/question-log.ts'
import type { Cancelled } from '../model/cancel-scope.ts'

/** Who waits for an attempt. Told once, by one of the two, and never while it starts. */
export interface Waiting {
  answered(value: Json): void
  failed(reason: unknown): void
}

/**
 * A call while its tool runs: one attempt, as its compartment is told of it, and whom the questions on its behalf go to. It ends
 * once: by the answer, by its deadline, with the call, or by whoever ends it.
 */
export class RunningCall implements ToolInvocation, Cancelled {
  readonly call: ClearedCall
  /** What the compartment knows it by. */
  readonly callId: string
  readonly tool: string
  readonly args: JsonObject
  readonly grant: Power | undefined
  readonly deadline: Deadline
  readonly #host: HostContext
  #waiting: Waiting | undefined
  #reason: BulkheadError | undefined
  /** Whom the end is told. */
  #cancelled: ((reason: BulkheadError) => void) | undefined
  #controller: AbortController | undefined
  #questions: QuestionLog | undefined

  constructor(call: ClearedCall, host: HostContext, waiting: Waiting) {
    const { tool, args } = call
    this.call = call
    this.tool = tool.name
    this.args = args
    const { power } = call.session.policy.standing(tool)
    this.grant = power === tool.grant ? undefined : power
    this.#host = host
    this.#waiting = waiting
    this.deadline = new Deadline(host.clock, call.leftMs, () => this.end(overdue(call)))
    this.callId = tool.extension.running.enter(this, call)
    call.scope.cancel.watch(this)
  }

  /** Aborted when this attempt is over, whatever ends it early. Made when somebody asks for it. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  get sessionId(): string {
    return this.call.session.id
  }

  get parent(): ToolInvocation | undefined {
    return this.call.parent?.running
  }

  onCancel(listener: (reason: BulkheadError) => void): void {
    if (this.#reason) listener(this.#reason)
    else this.#cancelled = listener
  }

  onProgress(text: string): void {
    this.#host.events.emit({ type: 'ToolInvocationProgress', ...eventFields(this.call), text })
  }

  onUpdate(partial: Json): void {
    passUpdate(this.call, this.#host, partial)
  }

  /** What it was told before it paused; another tool than the one that asked is told nothing. */
  get questions(): QuestionLog {
    if (this.#questions === undefined) {
      const { resumption } = this.call.scope
      this.#questions = new QuestionLog(resumption !== undefined && resumption.identity === identityOf(this.call) ? resumption.asked : [])
    }
    return this.#questions
  }

  /** Contract: once. */
  start(compartment: CompartmentSession): void {
    try {
      // oxlint-disable-next-line eslint/no-useless-call -- a compartment is no function
      compartment.call(this).then(
        (value) => this.#close()?.answered(value),
        (thrown: unknown) => this.#close()?.failed(thrown),
      )
    } catch (thrown) {
      this.#fail(thrown)
    }
  }

  /** Ends it with a reason; too late, it does nothing. */
  end(reason: BulkheadError): void {
    if (!this.#fail(reason)) return
    this.#reason = reason
    this.#cancelled?.(reason)
    this.#controller?.abort(reason)
  }

  /** Later: whoever ends a call is not to be held up by what follows from it. */
  #fail(reason: unknown): boolean {
    const waiting = this.#close()
    if (waiting) queueMicrotask(() => waiting.failed(reason))
    return waiting !== undefined
  }

  #close(): Waiting | undefined {
    const waiting = this.#waiting
    if (waiting === undefined) return undefined
    this.#waiting = undefined
    this.deadline.stop()
    this.call.askedMs += this.deadline.pausedMs
    this.call.scope.cancel.unwatch(this)
    this.call.tool.extension.running.leave(this)
    return waiting
  }
}

/** Stops the time of a call, and of those that wait for it. Returns what lets it go on. */
export function pauseFor({ call, deadline }: RunningCall): () => void {
  const resumes = [deadline.pause(), call.parent?.pause()]
  return () => {
    for (const resume of resumes) resume?.()
  }
}
