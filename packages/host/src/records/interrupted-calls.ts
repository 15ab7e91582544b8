import { BulkheadError, type ErrorOutcome, type OutcomeOrigin, type Store } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { EventBus } from './events.ts'
import { errorBody } from '../model/outcome.ts'
import { callsIn } from './journal-file.ts'
import { endedIn, type NamedCall } from './ended-calls.ts'
import type { Owner } from './owner.ts'

/** A call that was open when its host ended. */
export interface InterruptedCall {
  readonly sessionId: string
  readonly startedAt: string
  readonly outcome: ErrorOutcome
}

export interface InterruptionSources {
  readonly store: Store
  readonly owner: Owner
  readonly events: EventBus
  /** Resolves when the audit has what was told so far, or has failed to keep it; never rejects. */
  readonly audited: () => Promise<void>
}

/**
 * Closes the calls that hosts left open which have ended. Of several that find them one does: whoever has written its name into the
 * claim. A claim of a process that has ended counts for nothing, so that what it had not told yet is told by the next.
 */
export class InterruptedCalls {
  readonly #sources: InterruptionSources

  constructor(sources: InterruptionSources) {
    this.#sources = sources
  }

  /** Resolves with those that were closed here. Rejects with StoreUnavailable. */
  async close(): Promise<readonly InterruptedCall[]> {
    const { store, owner: me } = this.#sources
    if (store.forgets) return []
    const owners = new Set([...await store.notes?.owners() ?? [], ...(await store.list('call')).map(({ key }) => ownerIn(key))])
    const closed: InterruptedCall[] = []
    for (const owner of owners) {
      if (owner === me.id || !me.isGone(owner) || !await this.#claim(owner)) continue
      try {
        closed.push(...await this.#closeThoseOf(owner))
      } finally {
        await this.#endClaim(owner)
      }
    }
    return closed
  }

  /** What was told is dropped only when the audit has it: whoever dies in between leaves it to the next. */
  async #closeThoseOf(owner: string): Promise<readonly InterruptedCall[]> {
    const { store, audited } = this.#sources
    const records = (await store.list('call', `${owner}/`)).filter(({ key }) => key !== claimOf(owner))
    const noted = await store.notes?.left(owner) ?? []
    const left = [...callsIn(noted), ...records.map(({ value }) => value)].flatMap(readRecord)
    const ended = await endedIn(store, left)
    const closed = left.filter((call) => !ended.has(call)).map((call) => this.#tell(call))
    if (closed.length > 0) await audited()
    await Promise.all(records.map(({ key }) => store.remove('call', key)))
    await store.notes?.discard(owner)
    return closed
  }

  async #claim(owner: string): Promise<boolean> {
    const { store, owner: me } = this.#sources
    const claim = await store.update('call', claimOf(owner), (stored) => {
      const by = claimant(stored)
      return by === undefined || by === me.id || me.isGone(by) ? { claimedBy: me.id } : stored
    })
    return claimant(claim) === me.id
  }

  /** One that stays ends with this process. */
  async #endClaim(owner: string): Promise<void> {
    const { store, events } = this.#sources
    await store.remove('call', claimOf(owner)).catch((thrown: unknown) => events.suppressed('closing interrupted calls', thrown))
  }

  #tell(call: LeftCall): InterruptedCall {
    const interrupted = interruptedCall(call)
    const { sessionId, outcome: { metadata, error, error_text: message } } = interrupted
    this.#sources.events.emit({
      type: 'ToolInvocationFailed', sessionId, callId: metadata.call_id, tool: metadata.tool, origin: metadata.origin,
      durationMs: 0, errorClass: error.class, errorCode: error.code, message,
    })
    return interrupted
  }
}

interface LeftCall extends NamedCall {
  readonly tool: string
  readonly origin: OutcomeOrigin | null
}

const ownerIn = (key: string): string => key.slice(0, key.lastIndexOf('/'))
/** Calls have numbers there. */
const claimOf = (owner: string): string => `${owner}/claim`

function claimant(claim: Json | undefined): string | undefined {
  const by = isJsonObject(claim) ? claim['claimedBy'] : undefined
  return typeof by === 'string' ? by : undefined
}

/** None for what is not of the form that is written here. */
function readRecord(value: Json): LeftCall[] {
  const { sessionId, callId, tool, origin = null, startedAt } = isJsonObject(value) ? value : {} as JsonObject
  if (typeof sessionId !== 'string' || typeof callId !== 'string' || typeof tool !== 'string') return []
  const time = new Date(typeof startedAt === 'number' ? startedAt : String(startedAt)).getTime()
  return [{ sessionId, callId, tool, origin: origin as OutcomeOrigin | null, startedAt: Number.isNaN(time) ? 0 : time }]
}

function interruptedCall({ sessionId, callId, tool, origin, startedAt }: LeftCall): InterruptedCall {
  const error = new BulkheadError('CallInterrupted', `The call of "${tool}" was aborted: the host ended while it was open.`)
  return {
    sessionId,
    startedAt: new Date(startedAt).toISOString(),
    outcome: { ...errorBody(error), metadata: { call_id: callId, tool, origin, duration_ms: 0, attempt: 0 } },
  }
}
