import { BulkheadError } from '@bulkhead/contract'
import type { OpenCall } from '../model/capability.ts'

/** The searches of one compartment, each until its call ends: what they have started ends with it, whoever waits for them. */
export class Searches {
  readonly #stops = new Map<string, AbortController>()
  readonly #running = new Set<Promise<unknown>>()

  /** The signal is that of the call, and aborts with its end too. */
  async run<T>({ callId, signal }: OpenCall, search: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const stop = this.#stops.get(callId) ?? new AbortController()
    this.#stops.set(callId, stop)
    const running = search(AbortSignal.any([signal, stop.signal]))
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  endCall(callId: string): void {
    this.#stops.get(callId)?.abort(over())
    this.#stops.delete(callId)
  }

  /** Resolves when nothing is searched any more. */
  async close(): Promise<void> {
    for (const callId of [...this.#stops.keys()]) this.endCall(callId)
    await Promise.allSettled(this.#running)
  }
}

const over = (): BulkheadError =>
  new BulkheadError('ToolCancelled', 'The search was given up because its call is over. Wait for it in the call.')
