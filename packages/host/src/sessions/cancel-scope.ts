import { BulkheadError } from '@bulkhead/contract'

/** user: a person or the embedder wants it. parent: what it was begun in was cancelled. cap: a limit was met. */
export type CancelReason = 'user' | 'parent' | 'cap'

/**
 * Something that is cancelled together with everything begun in it: session > turn > call. A parent cancels its children,
 * never the reverse.
 */
export class CancelScope {
  readonly #controller = new AbortController()
  readonly #children = new Set<CancelScope>()
  readonly #parent: CancelScope | undefined
  #refusal: BulkheadError | undefined

  constructor(parent?: CancelScope) {
    this.#parent = parent
  }

  /** Aborted with a BulkheadError as its reason. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** One begun too late is cancelled from the start. Whoever begins it ends it. */
  begin(): CancelScope {
    const child = new CancelScope(this)
    this.#children.add(child)
    if (this.#refusal) child.cancel(this.#refusal)
    return child
  }

  /** Lets what runs go on; what is begun from now on is cancelled with this reason. The first reason stays. */
  refuse(reason: BulkheadError): void {
    this.#refusal ??= reason
    for (const child of this.#children) child.refuse(reason)
  }

  cancel(reason: BulkheadError): void {
    this.refuse(reason)
    this.#controller.abort(reason)
    for (const child of this.#children) child.cancel(reason)
  }

  /** Its parent forgets it. Idempotent. */
  end(): void {
    if (this.#parent) this.#parent.#children.delete(this)
  }
}

const WHO: Readonly<Record<CancelReason, string>> = {
  user: 'was cancelled', parent: 'was cancelled together with what it belongs to', cap: 'was cancelled because a limit was met',
}

export const sessionCancelled = (reason: CancelReason, cause?: unknown): BulkheadError =>
  new BulkheadError('SessionCancelled', `The session ${WHO[reason]}.`, { cause, data: { reason } })
export const turnCancelled = (reason: CancelReason, cause?: unknown): BulkheadError =>
  new BulkheadError('TurnCancelled', `The turn ${WHO[reason]}.`, { cause, data: { reason } })
export const callCancelled = (reason: CancelReason, cause?: unknown): BulkheadError =>
  new BulkheadError('ToolCancelled', `The call ${WHO[reason]}.`, { cause, data: { reason } })
