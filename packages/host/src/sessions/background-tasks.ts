import type { Outcome } from '@bulkhead/contract'

/** A sub-agent that works in the background of a session. */
export interface BackgroundTask {
  /** The id of its session. */
  readonly id: string
  readonly agent: string
  /** The call that started it. */
  readonly callId: string
  readonly startedAt: string
  readonly state: 'running' | 'succeeded' | 'failed' | 'cancelled'
}

/** A sub-agent that has ended, with its result. */
export interface EndedTask extends BackgroundTask {
  readonly outcome: Outcome
}

export interface StartedTask {
  readonly task: Omit<BackgroundTask, 'state'>
  /** Contract: must not reject. */
  readonly outcome: Promise<Outcome>
  cancel(): void
}

/** The background tasks of one session. A task leaves it when its result is delivered. */
export class BackgroundTasks {
  readonly #running = new Map<string, StartedTask>()
  #ended: EndedTask[] = []

  add(started: StartedTask): void {
    const { task, outcome } = started
    this.#running.set(task.id, started)
    void outcome.then((result) => {
      this.#running.delete(task.id)
      this.#ended.push({ ...task, state: stateOf(result), outcome: result })
    })
  }

  /** Those that run, then those whose result was not delivered yet. */
  list(): readonly BackgroundTask[] {
    return [
      ...[...this.#running.values()].map(({ task }) => ({ ...task, state: 'running' as const })),
      ...this.#ended.map(({ outcome: _outcome, ...task }) => task),
    ]
  }

  /** Resolves when the task has ended, with whether it was running. */
  async cancel(id: string): Promise<boolean> {
    const started = this.#running.get(id)
    if (started === undefined) return false
    started.cancel()
    await started.outcome
    return true
  }

  /** The results that were not delivered yet. */
  deliver(): readonly EndedTask[] {
    const ended = this.#ended
    this.#ended = []
    return ended
  }
}

const stateOf = (outcome: Outcome): EndedTask['state'] => {
  if (outcome.type === 'output') return 'succeeded'
  return outcome.error.class === 'Cancellation' ? 'cancelled' : 'failed'
}
