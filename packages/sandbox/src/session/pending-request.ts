import type { CallSteps, CommandWall, CompartmentTool, KeyUse, MeasuredUse, ToolInvocation, UseRules } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import type { OpenCall } from '@bulkhead/broker'
import type { ReplyHandler } from '../wire/rpc.ts'
import type { QueuedCall } from './call-queue.ts'
import { compartmentError, type ErrorPolicy } from './errors.ts'

/** A tool call as the broker sees it. Its signal is created for the first capability that needs one. */
export class InvokedCall implements OpenCall {
  readonly callId: string
  readonly tool: CompartmentTool
  readonly invocation: ToolInvocation
  declare effects?: NonNullable<OpenCall['effects']>

  constructor(callId: string, tool: CompartmentTool, invocation: ToolInvocation) {
    this.callId = callId
    this.tool = invocation.grant === undefined ? tool : { ...tool, grant: invocation.grant }
    this.invocation = invocation
  }

  get hostCallId(): string {
    return this.invocation.callId
  }

  get sessionId(): string | undefined {
    return this.invocation.sessionId
  }

  get idempotencyKey(): string | undefined {
    return this.invocation.idempotencyKey
  }

  get steps(): CallSteps | undefined {
    return this.invocation.steps
  }

  get isApproved(): boolean {
    return this.invocation.isApproved === true
  }

  get wall(): CommandWall | undefined {
    return this.invocation.wall
  }

  get uses(): UseRules | undefined {
    return this.invocation.uses
  }

  get commandMs(): number | undefined {
    return this.invocation.commandMs
  }

  get signal(): AbortSignal {
    return this.invocation.signal
  }

  beginEffect(what: string): Promise<void> | undefined {
    return this.invocation.beginEffect?.(what)
  }

  onProgress(text: string): void {
    this.invocation.onProgress?.(text)
  }

  onUpdate(partial: Json): void {
    this.invocation.onUpdate?.(partial)
  }

  onKeyUse(use: KeyUse): void {
    this.invocation.onKeyUse?.(use)
  }

  get onUse(): ((use: MeasuredUse) => void) | undefined {
    return this.invocation.onUse
  }
}

/** The session that a request belongs to. */
export interface RequestOwner {
  /** The caller was rejected, but the compartment still works on the request. */
  cancelled(request: PendingRequest, reason: BulkheadError): void
  /** The compartment is done with the request. */
  finished(request: PendingRequest): void
}

export interface RequestSource {
  readonly cancellation: Pick<ToolInvocation, 'signal' | 'onCancel'>
  /** Set for a tool call. */
  readonly call?: InvokedCall
}

export interface Settle {
  readonly resolve: (value: Json) => void
  readonly reject: (error: BulkheadError) => void
}

/**
 * A request to a compartment whose caller can cancel it. The caller is settled once: by the reply, by cancelling, or by
 * the end of the compartment.
 */
export class PendingRequest implements ReplyHandler, QueuedCall<PendingRequest> {
  readonly call: InvokedCall | undefined
  at = -1
  lender: PendingRequest | undefined
  borrower: PendingRequest | undefined
  /** Runs while a cancelled request goes on in the compartment. */
  overdue: NodeJS.Timeout | undefined
  /** Set once it is cancelled. */
  reason: BulkheadError | undefined
  readonly #owner: RequestOwner
  readonly #policy: ErrorPolicy
  readonly #cancellation: RequestSource['cancellation']
  readonly #settle: Settle
  #removeListener: (() => void) | undefined
  #isSent = false
  #isOver = false

  constructor(owner: RequestOwner, policy: ErrorPolicy, { call, cancellation }: RequestSource, settle: Settle) {
    this.call = call
    this.#owner = owner
    this.#policy = policy
    this.#cancellation = cancellation
    this.#settle = settle
  }

  get invocation(): ToolInvocation | undefined {
    return this.call?.invocation
  }

  /** Starts to watch for cancellation. Returns false when it is cancelled already. */
  listen(): boolean {
    const cancellation = this.#cancellation
    if (cancellation.onCancel) cancellation.onCancel((reason) => this.#cancel(reason))
    else this.#listenTo(cancellation.signal)
    this.#isSent = this.reason === undefined
    return this.#isSent
  }

  answered(value: Json): void {
    this.#finish()
    if (this.reason === undefined) this.#settle.resolve(value)
  }

  failed(error: unknown): void {
    this.#finish()
    if (this.reason === undefined) this.#settle.reject(compartmentError(error, this.#policy))
  }

  #listenTo(signal: AbortSignal): void {
    const abort = (): void => this.#cancel(BulkheadError.from(signal.reason, 'ToolCancelled'))
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    this.#removeListener = () => signal.removeEventListener('abort', abort)
  }

  #cancel(reason: BulkheadError): void {
    if (this.#isOver || this.reason !== undefined) return
    this.reason = reason
    this.#settle.reject(reason)
    if (this.#isSent) this.#owner.cancelled(this, reason)
  }

  #finish(): void {
    this.#isOver = true
    this.#removeListener?.()
    this.#owner.finished(this)
  }
}
