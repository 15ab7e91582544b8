import type { BulkheadError, CompartmentLoadRequest, CompartmentMethods } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { Question } from '../wire/remote.ts'

/** The code of an extension as the host reaches it, wherever it runs. Answers are not judged yet, and may never come. */
export interface Peer {
  load(request: CompartmentLoadRequest): Promise<Json>
  ask<Method extends keyof CompartmentMethods>(method: Method, args: Parameters<CompartmentMethods[Method]>, question: Question): void
  /** Idempotent. Whatever is open, and whatever is asked later, fails with this. */
  endAll(error: BulkheadError): void
  /** Whether what is asked now can still come to it. */
  readonly isReachable: boolean
  /** Whether code that does not end by itself can be ended. */
  readonly killable: boolean
  /** Settles once, never rejects, as soon as it is of no more use: with the reason, or without when it was told to end. */
  readonly ended: Promise<BulkheadError | undefined>
  /** Settles once, never rejects, when nothing of it is left. */
  readonly gone: Promise<void>
  /** Settles once, never rejects: with true when it can take code, with false when it ended before that. */
  readonly ready: Promise<boolean>
  /** Idempotent. */
  kill(): void
}
