import { BulkheadError, type ErrorOutcome, type OutcomeOrigin, type Store } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { errorBody } from '../model/outcome.ts'

/** What the record of a paused call has while its call is under way and a person is asked. */
export interface AskedRecord {
  /** The host that asks. No one else answers the record as long as it lives. */
  readonly askedBy?: string
  /** The host that asked, and ended before there was an answer. */
  readonly leftBy?: string
  readonly origin?: OutcomeOrigin
  /** Where the results of its steps are kept, and its outcome if its caller gave it an idempotency key. */
  readonly place?: string
}

/** A question that a host left open when it ended. */
export interface LeftQuestion {
  readonly key: string
  readonly sessionId: string
  readonly callId: string
  /** When it was asked, in milliseconds since 1970: its call started earlier. */
  readonly startedAt: number
  /** It is a paused call already. */
  readonly isOpen: boolean
  readonly place: string | undefined
  /** Its caller gave it an idempotency key. */
  readonly isKeyed: boolean
  /** How its call ends: it waits. */
  readonly outcome: ErrorOutcome
}

/** Rejects with StoreUnavailable. */
export async function questionsLeftBy(store: Store, host: string): Promise<readonly LeftQuestion[]> {
  return (await store.list('paused')).flatMap(({ key, value }) => {
    const { id, sessionId, call, question, pausedAt, askedBy, leftBy, origin = null, place, ownKey } = fieldsOf(value)
    const { id: callId, name: tool } = fieldsOf(call)
    if (askedBy !== host && leftBy !== host) return []
    if (typeof sessionId !== 'string' || typeof callId !== 'string' || typeof tool !== 'string') return []
    const message = `The call of "${tool}" waits for an answer: its host ended while a person was asked.`
    const data = { paused: id ?? null, question: question ?? null }
    return [{
      key, sessionId, callId, startedAt: Date.parse(String(pausedAt)), isOpen: askedBy !== host,
      place: typeof place === 'string' ? place : undefined, isKeyed: ownKey !== undefined,
      outcome: {
        ...errorBody(new BulkheadError('ClarificationNeeded', message, { data })),
        metadata: { call_id: callId, tool, origin: origin as OutcomeOrigin | null, duration_ms: 0, attempt: 0 },
      },
    }]
  })
}

/** The call waits from now on, and any host may go on with it. Rejects with StoreUnavailable. */
export async function leaveOpen(store: Store, { key }: LeftQuestion, host: string): Promise<void> {
  await store.update('paused', key, (stored) => {
    const { askedBy, ...record } = fieldsOf(stored)
    return askedBy === host ? { ...record, leftBy: host } : stored
  })
}

/** The call has ended, or cannot run again. Rejects with StoreUnavailable. */
export async function dropQuestion(store: Store, { key }: LeftQuestion, host: string): Promise<void> {
  await store.update('paused', key, (stored) => fieldsOf(stored)['askedBy'] === host ? undefined : stored)
}

const fieldsOf = (value: Json | undefined): JsonObject => isJsonObject(value) ? value : {}
