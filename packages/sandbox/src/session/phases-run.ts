import type { CompartmentSession, LifecyclePhase } from '@bulkhead/contract'

/** The phases by which an extension was brought up, to be undone before its compartment is given back and done in the next. */
export class PhasesRun {
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

  /** Rejects with the first that fails. */
  async replay(session: CompartmentSession): Promise<void> {
    if (this.#up.has('init')) await session.lifecycle('init')
    if (this.#up.has('activate')) await session.lifecycle('activate')
  }

  /** Each in turn, also after one that failed. Contract: `failed` must not throw; never rejects. */
  async undo(session: CompartmentSession, failed: (phase: LifecyclePhase, error: unknown) => void): Promise<void> {
    if (this.#up.has('activate')) await session.lifecycle('deactivate').catch((error: unknown) => failed('deactivate', error))
    if (this.#up.has('init')) await session.lifecycle('dispose').catch((error: unknown) => failed('dispose', error))
  }
}
