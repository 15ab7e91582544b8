import type { ErrorCode, Json } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import type { Question } from '../wire/remote.ts'
import { AbortWatch } from './abort-watch.ts'
import { judgeError } from './judged-error.ts'

/** What an error of the code becomes, and which codes it may name itself. */
export interface Judgement {
  readonly fallback: ErrorCode
  readonly own: ReadonlySet<ErrorCode>
}

/** Who is told of the two turns a caller can take. */
export interface CallerOwner {
  /** It does not wait any more, but the compartment still works for it. */
  gaveUp(caller: Caller): void
  /** The compartment is done with it. */
  left(caller: Caller): void
}

export interface CallerParts {
  readonly owner: CallerOwner
  readonly judgement: Judgement
  readonly signal: AbortSignal
  readonly callId?: string
  /** Idempotent; the end of what the call was granted. */
  readonly close?: () => void
  readonly resolve: (value: Json) => void
  readonly reject: (error: BulkheadError) => void
}

/**
 * Someone who waits for an answer of a compartment, and may give up. Told once: by the answer, by giving up, or by the end of
 * all. What comes after the signal was aborted does not count, also when it is here before anyone has noticed that.
 */
export class Caller implements Question {
  /** Runs while a call goes on whose caller has given up. */
  overdue: NodeJS.Timeout | undefined
  readonly #parts: CallerParts
  readonly #watch: AbortWatch

  constructor(parts: CallerParts) {
    this.#parts = parts
    this.#watch = new AbortWatch(parts.signal, () => this.#giveUp())
  }

  get callId(): string | undefined {
    return this.#parts.callId
  }

  get reason(): BulkheadError {
    return abortError(this.#parts.signal)
  }

  /** Whether it has given up shows now. */
  look(): void {
    this.#watch.look()
  }

  answered(value: Json): void {
    this.#leave()
    if (this.#parts.signal.aborted) this.#parts.reject(this.reason)
    else this.#parts.resolve(value)
  }

  failed(error: unknown): void {
    this.#leave()
    const { signal, judgement, reject } = this.#parts
    reject(signal.aborted ? this.reason : judgeError(error, judgement.fallback, judgement.own))
  }

  #giveUp(): void {
    this.#parts.close?.()
    this.#parts.reject(this.reason)
    this.#parts.owner.gaveUp(this)
  }

  #leave(): void {
    this.#watch.stop()
    this.#parts.owner.left(this)
    this.#parts.close?.()
  }
}

export const abortError = (signal: AbortSignal): BulkheadError => BulkheadError.from(signal.reason, 'ToolCancelled')
