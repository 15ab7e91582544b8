import {
  BulkheadError, isJsonObject, type Clock, type ErrorOutcome, type Json, type JsonObject, type OutcomeOrigin, type Store,
} from '@bulkhead/contract'
import { eventFields, type RawCall } from '../call.ts'
import type { EventBus } from '../events.ts'
import { errorBody } from '../outcome.ts'
import { PendingWrites } from './pending-writes.ts'

/** Which process of those that share a store wrote a record. */
export interface Owner {
  /** Without `/`. */
  readonly id: string
  /** Whether whoever had this id has ended. */
  isGone(id: string): boolean
}

/** A call that was open when its host ended. */
export interface InterruptedCall {
  readonly sessionId: string
  readonly startedAt: string
  readonly outcome: ErrorOutcome
}

/** One call in the journal. */
export interface JournalEntry {
  /** Settles when the store has it, or has failed to; never rejects. */
  readonly written: Promise<void>
  /** Idempotent. */
  close(): void
}

export interface JournalSources {
  readonly store: Store
  readonly owner: Owner
  readonly events: EventBus
  readonly clock: Clock
}

/**
 * Calls from before they run until they have settled, so that those a crash leaves open can be closed by the next host. A
 * store that fails costs the entry, never the call.
 */
export class OpenCalls {
  readonly #sources: JournalSources
  readonly #owner: Owner
  readonly #writes: PendingWrites
  #count = 0
  #recovering: Promise<readonly InterruptedCall[]> | undefined

  constructor(sources: JournalSources) {
    this.#sources = sources
    this.#owner = sources.owner
    this.#writes = new PendingWrites('journal of calls', sources.events)
  }

  /** undefined where nothing outlives the process. */
  open(call: RawCall): JournalEntry | undefined {
    const { store, clock } = this.#sources
    if (store.forgets) return undefined
    const key = `${this.#owner.id}/${++this.#count}`
    const { sessionId, callId, tool, origin } = eventFields(call)
    const record = { sessionId, callId, tool, origin: origin && { ...origin }, startedAt: new Date(clock.now()).toISOString() }
    let open = true
    return {
      written: this.#writes.add(store.write('call', key, record)),
      close: () => {
        if (open) void this.#writes.add(store.remove('call', key))
        open = false
      },
    }
  }

  /** Closes what hosts that have ended left open, once. Resolves with it; never rejects. */
  recover(): Promise<readonly InterruptedCall[]> {
    this.#recovering ??= this.#recover().catch((thrown: unknown) => {
      this.#recovering = undefined
      this.#sources.events.suppressed('closing interrupted calls', thrown)
      return []
    })
    return this.#recovering
  }

  /** Resolves when everything asked of the store is done. */
  settled(): Promise<void> {
    return this.#writes.settled()
  }

  async #recover(): Promise<readonly InterruptedCall[]> {
    const { store, events } = this.#sources
    if (store.forgets) return []
    const interrupted: InterruptedCall[] = []
    for (const { key, value } of await store.list('call')) {
      const owner = key.slice(0, key.lastIndexOf('/'))
      if (owner === this.#owner.id || !this.#owner.isGone(owner)) continue
      const call = readRecord(value)
      if (call) {
        const { sessionId, outcome: { metadata, error, error_text: message } } = call
        interrupted.push(call)
        events.emit({
          type: 'ToolInvocationFailed', sessionId, callId: metadata.call_id, tool: metadata.tool, origin: metadata.origin,
          durationMs: 0, errorClass: error.class, errorCode: error.code, message,
        })
      }
      await store.remove('call', key)
    }
    return interrupted
  }
}

function readRecord(value: Json): InterruptedCall | undefined {
  const { sessionId, callId, tool, origin = null, startedAt } = isJsonObject(value) ? value : {} as JsonObject
  if (typeof sessionId !== 'string' || typeof callId !== 'string' || typeof tool !== 'string') return undefined
  const error = new BulkheadError('CallInterrupted', `The call of "${tool}" was aborted: the host ended while it was open.`)
  return {
    sessionId,
    startedAt: String(startedAt),
    outcome: {
      ...errorBody(error),
      metadata: { call_id: callId, tool, origin: origin as OutcomeOrigin | null, duration_ms: 0, attempt: 0 },
    },
  }
}
