import { BulkheadError, type ErrorCode } from '@bulkhead/contract'
import { onAbort } from '@bulkhead/kit/deadlines'
import { LinkedList, type Place } from './linked-list.ts'

/** user: a person or the embedder wants it. parent: what it was begun in was cancelled. cap: a limit was met. */
export type CancelReason = 'user' | 'parent' | 'cap'

/** Receives a cancellation. */
export interface Cancelled {
  /** Contract: must not throw, and does nothing once it is over. */
  end(reason: BulkheadError): void
}

/**
 * Something that is cancelled together with everything begun in it: session > turn > call. A parent cancels its
 * children, never the reverse.
 */
export class CancelScope {
  readonly #parent: CancelScope | undefined
  /** Created when needed: most calls are not cancelled and have no children. */
  #controller: AbortController | undefined
  #children: LinkedList<CancelScope> | undefined
  #place: Place<CancelScope> | undefined
  #watchers: Cancelled[] | undefined
  #refusal: BulkheadError | undefined
  #reason: BulkheadError | undefined

  constructor(parent?: CancelScope) {
    this.#parent = parent
  }

  /** Aborted with a BulkheadError as its reason. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /** Set once it is cancelled. */
  get reason(): BulkheadError | undefined {
    return this.#reason
  }

  throwIfCancelled(): void {
    if (this.#reason) throw this.#reason
  }

  /** Ends it when this is cancelled, at once if it already is. */
  watch(watcher: Cancelled): void {
    if (this.#reason) watcher.end(this.#reason)
    else if (this.#watchers) this.#watchers.push(watcher)
    else this.#watchers = [watcher]
  }

  /** A scope that begins too late is cancelled from the start. The caller ends it. */
  begin(): CancelScope {
    const child = new CancelScope(this)
    this.#children ??= new LinkedList()
    child.#place = this.#children.add(child)
    if (this.#refusal) child.cancel(this.#refusal)
    return child
  }

  /** Cancels later children with this reason, and lets present ones run. The first reason stays. */
  refuse(reason: BulkheadError): void {
    this.#refusal ??= reason
    for (const child of this.#children?.items() ?? []) child.refuse(reason)
  }

  /** The first reason stays. */
  cancel(reason: BulkheadError): void {
    this.refuse(reason)
    this.#reason ??= reason
    this.#controller?.abort(this.#reason)
    const watchers = this.#watchers
    this.#watchers = undefined
    for (const watcher of watchers ?? []) watcher.end(this.#reason)
    for (const child of this.#children?.items() ?? []) child.cancel(reason)
  }

  /** Cancelled when the signal is aborted. Returns a function that removes the listener. */
  follow(signal: AbortSignal, reason: (by: CancelReason, cause: unknown) => BulkheadError): () => void {
    return onAbort(signal, () => this.cancel(reason('user', signal.reason)))
  }

  /** Its parent forgets it. Idempotent. */
  end(): void {
    if (this.#parent && this.#place) this.#parent.#children?.remove(this.#place)
  }
}

const WHO: Readonly<Record<CancelReason, string>> = {
  user: 'was cancelled', parent: 'was cancelled together with what it belongs to',
  cap: 'was cancelled because a limit was met',
}

/** Any other reason cancels as well. */
const cancelled = (code: ErrorCode, what: string) => (given: CancelReason, cause?: unknown): BulkheadError => {
  const reason = Object.hasOwn(WHO, given) ? given : 'user'
  return new BulkheadError(code, `The ${what} ${WHO[reason]}.`, { cause, data: { reason } })
}
export const sessionCancelled = cancelled('SessionCancelled', 'session')
export const turnCancelled = cancelled('TurnCancelled', 'turn')
export const callCancelled = cancelled('ToolCancelled', 'call')
