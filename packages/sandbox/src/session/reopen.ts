import type { CompartmentRequest, CompartmentSession, LifecyclePhase } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import type { Residency } from './residency.ts'

/** Opens a compartment. Its session reports each request to the residency. */
export type OpenSession = (request: CompartmentRequest, residency: Residency) => Promise<CompartmentSession>

/** The phases that brought an extension up: undone before its compartment is closed, and repeated in the next one. */
export class PhaseReplay {
  readonly #up = new Set<'init' | 'activate'>()

  /** Called when a phase has succeeded. */
  ran(phase: LifecyclePhase): void {
    switch (phase) {
      case 'init':
      case 'activate':
        this.#up.add(phase)
        return
      case 'deactivate':
        this.#up.delete('activate')
        return
      case 'dispose':
        this.#up.clear()
    }
  }

  /** Rejects with the first failure. */
  async replay(session: CompartmentSession): Promise<void> {
    if (this.#up.has('init')) await session.lifecycle('init')
    if (this.#up.has('activate')) await session.lifecycle('activate')
  }

  /** Goes on after a failure. Contract: `failed` must not throw; never rejects. */
  async undo(session: CompartmentSession, failed: (phase: LifecyclePhase, error: unknown) => void): Promise<void> {
    if (this.#up.has('activate')) await session.lifecycle('deactivate').catch((error: unknown) => failed('deactivate', error))
    if (this.#up.has('init')) await session.lifecycle('dispose').catch((error: unknown) => failed('dispose', error))
  }
}

/** Waits until the signal aborts at most; the work goes on for others. It is not begun after an abort. */
export function abortable<T>(begin: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return begin()
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(BulkheadError.from(signal.reason, 'ToolCancelled'))
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    begin().finally(() => signal.removeEventListener('abort', abort)).then(resolve, reject)
  })
}
