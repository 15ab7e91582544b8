import type { ErrorCode, ToolInvocation } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import type { Question } from '../wire/remote.ts'
import type { PlacedCall } from './call-queue.ts'
import type { InvokedCall } from './invoked-call.ts'
import { judgeError } from './compartment-error.ts'

/** What an error of the code becomes, and which codes it may name itself. */
export interface Judgement {
  readonly fallback: ErrorCode
  readonly own: ReadonlySet<ErrorCode>
}

/** Who is told of the two turns a caller can take. */
export interface CallerOwner {
  /** It does not wait any more, but the compartment still works for it. */
  gaveUp(caller: Caller, reason: BulkheadError): void
  /** The compartment is done with it. */
  left(caller: Caller): void
}

/** Who asks: for which of its tool calls, if it is one, and how it says that it does not want its answer any more. */
export interface Asking {
  readonly cancellation: Pick<ToolInvocation, 'signal' | 'onCancel'>
  readonly call?: InvokedCall
}

/** How it is told. */
export interface Telling {
  readonly resolve: (value: Json) => void
  readonly reject: (error: BulkheadError) => void
}

/** Someone who waits for an answer of a compartment, and may give up. Told once: by the answer, by giving up, or by the end of all. */
export class Caller implements Question, PlacedCall<Caller> {
  readonly call: InvokedCall | undefined
  at = -1
  lender: Caller | undefined
  borrower: Caller | undefined
  /** Runs while a call goes on whose caller has given up. */
  overdue: NodeJS.Timeout | undefined
  /** Set once it has given up. */
  reason: BulkheadError | undefined
  readonly #owner: CallerOwner
  readonly #judgement: Judgement
  readonly #cancellation: Asking['cancellation']
  readonly #telling: Telling
  #forget: (() => void) | undefined
  #isAsking = false
  #isOver = false

  constructor(owner: CallerOwner, judgement: Judgement, { call, cancellation }: Asking, telling: Telling) {
    this.call = call
    this.#owner = owner
    this.#judgement = judgement
    this.#cancellation = cancellation
    this.#telling = telling
  }

  get invocation(): ToolInvocation | undefined {
    return this.call?.invocation
  }

  /** Whether it has given up is noticed from here on. Returns whether it still wants to ask. */
  listen(): boolean {
    const cancellation = this.#cancellation
    if (cancellation.onCancel) cancellation.onCancel((reason) => this.#giveUp(reason))
    else this.#listenTo(cancellation.signal)
    this.#isAsking = this.reason === undefined
    return this.#isAsking
  }

  answered(value: Json): void {
    this.#leave()
    if (this.reason === undefined) this.#telling.resolve(value)
  }

  failed(error: unknown): void {
    this.#leave()
    const { fallback, own } = this.#judgement
    if (this.reason === undefined) this.#telling.reject(judgeError(error, fallback, own))
  }

  #listenTo(signal: AbortSignal): void {
    const abort = (): void => this.#giveUp(abortError(signal))
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    this.#forget = () => signal.removeEventListener('abort', abort)
  }

  #giveUp(reason: BulkheadError): void {
    if (this.#isOver || this.reason !== undefined) return
    this.reason = reason
    this.#telling.reject(reason)
    if (this.#isAsking) this.#owner.gaveUp(this, reason)
  }

  #leave(): void {
    this.#isOver = true
    this.#forget?.()
    this.#owner.left(this)
  }
}

export const abortError = (signal: AbortSignal): BulkheadError => BulkheadError.from(signal.reason, 'ToolCancelled')
