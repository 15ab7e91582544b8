import { BulkheadError, CALL_LIMITS, type CompartmentSession } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { readReturn, type Reading } from '@bulkhead/contract/dialects'
import { eventFields, Refusal, type ClearedCall, type ExecutedCall } from '../policy/call.ts'
import { attemptsSpent, backOffMs, mayTryAgain, rest, type Failure } from './retry.ts'
import { RunningCall, type Waiting } from './running-call.ts'
import type { HostContext } from '../policy/host-context.ts'
import type { Departing } from '../records/write-batching.ts'
import { observe } from './hooks.ts'
import { isCompartmentGone, untilStarted } from '../extensions/lifecycle/start.ts'

/** Told once what a call came to. Contract: must not throw. */
export type Done = (ended: ExecutedCall | Refusal) => void

/**
 * Runs the tool in its compartment, again where that does no harm and its time is not over. Whoever waits is called back instead of
 * given promises: every call comes through here, and each promise would be one more turn for all of them.
 */
export class Execution implements Departing, Waiting {
  readonly #call: ClearedCall
  readonly #host: HostContext
  readonly #done: Done
  #running: RunningCall | undefined
  /** Where it runs. */
  #compartment: CompartmentSession | undefined

  constructor(call: ClearedCall, host: HostContext, done: Done) {
    this.#call = call
    this.#host = host
    this.#done = done
  }

  get isInline(): boolean {
    return this.#call.tool.extension.arrangement.placement === 'inline'
  }

  /** An attempt. Contract: not called while another is under way. */
  begin(): void {
    const call = this.#call
    const host = this.#host
    if (this.#isCancelled()) return
    const attempt = ++call.attempt
    this.#running = undefined
    if (host.events.hears('ToolInvocationStarted')) host.events.emit({ type: 'ToolInvocationStarted', ...eventFields(call), attempt })
    if (call.session.hooks.all.length > 0) observe('onBeforeTool', call, host)
    const { compartment } = call.tool.extension
    if (compartment) this.#run(compartment)
    else void this.#runOnceStarted()
  }

  /** `gone`: the compartment that ended before the call was sent to it. */
  async #runOnceStarted(gone?: CompartmentSession): Promise<void> {
    try {
      this.#run(await untilStarted(this.#call, this.#host.clock, gone))
    } catch (thrown) {
      this.failed(thrown)
    }
  }

  #run(compartment: CompartmentSession): void {
    // By a hook, or while the compartment was on its way.
    if (this.#isCancelled()) return
    try {
      this.#running = new RunningCall(this.#call, this.#host, this)
    } catch (thrown) {
      return this.failed(thrown)
    }
    this.#compartment = compartment
    this.#running.start(compartment)
  }

  answered(value: Json): void {
    let result: Reading
    try {
      result = readReturn(value)
    } catch (thrown) {
      return this.failed(thrown)
    }
    const { body } = result
    if (body.type === 'output') this.#end(result)
    else this.#conclude(result, { ...body.error, message: body.error_text })
  }

  failed(thrown: unknown): void {
    if (this.#isCancelled()) return
    const compartment = this.#compartment
    this.#compartment = undefined
    if (compartment && isCompartmentGone(thrown)) return this.#runInNext(compartment)
    const error = attributed(BulkheadError.from(thrown))
    if (this.#call.session.hooks.all.length > 0) observe('onToolError', this.#call, this.#host, { error })
    this.#conclude(error, error)
  }

  /** The same attempt: the tool has not heard of the call. */
  #runInNext(gone: CompartmentSession): void {
    this.#keepTimeLeft()
    void this.#runOnceStarted(gone)
  }

  #conclude(result: Reading | BulkheadError, failure: Failure): void {
    const call = this.#call
    if (!mayTryAgain(failure, call.tool.definition)) return this.#end(result)
    if (call.attempt >= CALL_LIMITS.attempts) {
      return this.#end(failure.class === 'ToolTransient' ? attemptsSpent(call.name, failure) : result)
    }
    const restMs = backOffMs(call.attempt)
    this.#keepTimeLeft()
    call.leftMs -= restMs
    if (call.leftMs <= 0) return this.#end(result)
    rest(this.#host.clock, restMs, call.signal).then(() => this.begin(), (thrown: unknown) => this.failed(thrown))
  }

  /** An attempt has the time that those before it have left. */
  #keepTimeLeft(): void {
    if (this.#running) this.#call.leftMs = this.#running.deadline.leftMs
    this.#running = undefined
  }

  #end(result: Reading | BulkheadError): void {
    this.#done(result instanceof BulkheadError ? new Refusal(result) : this.#call.answer(result))
  }

  #isCancelled(): boolean {
    const { reason } = this.#call.scope.cancel
    if (reason) this.#done(new Refusal(reason))
    return reason !== undefined
  }
}

/** A tool that claims a cancellation, which would end the run of the model, has failed like any other: ours are not claimed. */
function attributed(error: BulkheadError): BulkheadError {
  const claimed = error.class === 'Cancellation' || error.code === 'HostClosed'
  return claimed ? new BulkheadError('ToolExecutionFailed', error.message, { cause: error }) : error
}
