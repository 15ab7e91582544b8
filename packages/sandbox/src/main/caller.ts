import type { ErrorCode, Json, ToolInvocation } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import type { Question } from '../wire/remote.ts'
import { judgeError } from './judged-error.ts'

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

export interface CallerParts {
  readonly owner: CallerOwner
  readonly judgement: Judgement
  readonly cancellation: Cancellation
  readonly callId?: string
  /** Idempotent; the end of what the call was granted. */
  readonly close?: () => void
  readonly resolve: (value: Json) => void
  readonly reject: (error: BulkheadError) => void
}

/** How a caller says that it does not want its answer any more. */
export type Cancellation = Pick<ToolInvocation, 'signal' | 'onCancel'>

/** Someone who waits for an answer of a compartment, and may give up. Told once: by the answer, by giving up, or by the end of all. */
export class Caller implements Question {
  /** Runs while a call goes on whose caller has given up. */
  overdue: NodeJS.Timeout | undefined
  /** Set once it has given up. */
  reason: BulkheadError | undefined
  readonly #parts: CallerParts
  #forget: (() => void) | undefined
  #isAsking = false
  #isOver = false

  constructor(parts: CallerParts) {
    this.#parts = parts
  }

  get callId(): string | undefined {
    return this.#parts.callId
  }

  /** Whether it has given up is noticed from here on. Returns whether it still wants to ask. */
  listen(): boolean {
    const { cancellation } = this.#parts
    if (cancellation.onCancel) cancellation.onCancel((reason) => this.#giveUp(reason))
    else this.#listenTo(cancellation.signal)
    this.#isAsking = this.reason === undefined
    return this.#isAsking
  }

  answered(value: Json): void {
    this.#leave()
    if (this.reason === undefined) this.#parts.resolve(value)
  }

  failed(error: unknown): void {
    this.#leave()
    const { judgement, reject } = this.#parts
    if (this.reason === undefined) reject(judgeError(error, judgement.fallback, judgement.own))
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
    this.#parts.close?.()
    this.#parts.reject(reason)
    if (this.#isAsking) this.#parts.owner.gaveUp(this, reason)
  }

  #leave(): void {
    this.#isOver = true
    this.#forget?.()
    this.#parts.owner.left(this)
    this.#parts.close?.()
  }
}

export const abortError = (signal: AbortSignal): BulkheadError => BulkheadError.from(signal.reason, 'ToolCancelled')
