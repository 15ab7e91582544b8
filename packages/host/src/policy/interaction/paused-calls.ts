import { hash, randomUUID } from 'node:crypto'
import { BulkheadError, type InteractionRequest, type Outcome, type Store, type StoredRecord } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { asJson, isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { sessionFields, type NamedSession } from '../../model/event-fields.ts'
import type { EventBus } from '../../records/events.ts'
import type { Claimant } from '../../records/owner.ts'
import type { Retention } from '../../records/retention.ts'
import { readValue, requireApproval } from './interactors.ts'
import { identityOf, type AskedQuestion } from './question-log.ts'

/** A call that waits for an answer, or has one and waits to continue. */
export interface PausedCall {
  readonly id: string
  readonly status: 'clarification_needed' | 'answered'
  readonly sessionId: string
  /** Whose session it was. Only a session of the same principal continues it. */
  readonly principal?: string
  readonly call: { readonly id: string; readonly name: string; readonly arguments: JsonObject }
  readonly question: InteractionRequest
  readonly pausedAt: string
}

/** A call that can be stored until its question is answered. */
export interface PausableCall {
  readonly id: string
  readonly name: string
  readonly args: JsonObject
  /** The arguments as the model sent them, if they were changed. */
  readonly proposed: JsonObject | undefined
  readonly session: NamedSession
  readonly tool: { readonly identity: string }
  readonly scope: { readonly resumption: Resumption | undefined }
  readonly ownKey: string | undefined
  readonly idempotencyKey: string
}

/** What a call knows when it continues. */
export interface Resumption {
  readonly id: string
  /** Of the tool that asked. Another tool does not get the answers. */
  readonly identity: string
  readonly asked: readonly AskedQuestion[]
  /** What the extension of the tool kept for the session. */
  readonly memory?: Json | undefined
  /** The idempotency key, and that of the caller if there is one. Absent in records of earlier versions. */
  readonly key?: string | undefined
  readonly ownKey?: string | undefined
}

/** A paused call by its id, the answer if it has none yet, and the principal of the session that continues it. */
export interface ResumedCall {
  readonly id: string
  readonly answer: Json | undefined
  readonly principal: string | undefined
}

/** A paused call that this host continues. */
export interface Claim {
  readonly call: PausedCall['call']
  readonly resumption: Resumption
}

interface PausedRecord extends PausedCall {
  /** The host that continues it. */
  readonly claimedBy?: string
  readonly identity: string
  readonly asked: readonly AskedQuestion[]
  readonly memory?: Json
  readonly key?: string
  readonly ownKey?: string
}

export interface PausedSources {
  readonly store: Store
  readonly workspace: string
  readonly owner: Claimant
  readonly retention: Pick<Retention, 'outcomeMs' | 'pausedMs'>
  readonly now: () => number
}

/** Paused calls of one workspace. They outlive the process. */
export class PausedCalls {
  readonly #store: Store
  readonly #prefix: string
  readonly #owner: Claimant
  readonly #retention: PausedSources['retention']
  readonly #now: () => number
  /** Those that this host continues now. */
  readonly #claimed = new Set<string>()

  constructor({ store, workspace, owner, retention, now }: PausedSources) {
    this.#store = store
    this.#retention = retention
    this.#prefix = `${hash('sha256', workspace)}/`
    this.#owner = owner
    this.#now = now
  }

  /**
   * Resolves with the id to answer under when it is stored. A call that pauses again keeps its id. `memory`: what the
   * extension of the tool keeps for the session.
   */
  async keep(
    call: PausableCall, question: InteractionRequest, asked: readonly AskedQuestion[], memory?: Json,
  ): Promise<string> {
    const id = call.scope.resumption?.id ?? randomUUID()
    const record: PausedRecord = {
      id, status: 'clarification_needed', ...sessionFields(call.session), question, asked,
      call: { id: call.id, name: call.name, arguments: call.proposed ?? call.args },
      identity: identityOf(call), pausedAt: new Date(this.#now()).toISOString(), ...(memory !== undefined && { memory }),
      key: call.idempotencyKey, ...(call.ownKey !== undefined && { ownKey: call.ownKey }),
    }
    await this.#store.write('paused', this.#prefix + id, asJson(record))
    return id
  }

  async list(): Promise<readonly PausedCall[]> {
    const records = await this.#store.list('paused', this.#prefix)
    this.#purge(records)
    return records.flatMap(({ value }) => {
      const {
        identity: _identity, asked: _asked, claimedBy: _claimedBy, memory: _memory, key: _key, ownKey: _ownKey,
        ...paused
      } = readRecord(value) ?? {}
      return 'id' in paused ? [paused] : []
    })
  }

  /**
   * Stores the answer of a paused call, which goes on when a session resumes it. Rejects with NotFound,
   * InteractionAlreadyAnswered or InputInvalid, and then nothing has changed.
   */
  async answer(id: string, answer: Json): Promise<void> {
    await storeAnswer(this.#store, this.#prefix + id, answer)
  }

  async forget(id: string): Promise<void> {
    await this.#store.remove('paused', this.#prefix + id)
    this.#claimed.delete(id)
  }

  /**
   * Stores the answer and claims the call for this host, which must release it. Of several hosts, one gets it. Rejects
   * with NotFound, also for a call of another principal, InteractionAlreadyAnswered or InputInvalid, and then nothing
   * has changed.
   */
  async claim({ id, answer, principal }: ResumedCall): Promise<Claim> {
    if (this.#claimed.has(id)) throw alreadyAnswered(id)
    this.#claimed.add(id)
    try {
      const { call, identity, asked, memory, key, ownKey } = await this.#take({ id, answer, principal })
      return { call, resumption: { id, identity, asked, memory, key, ownKey } }
    } catch (thrown) {
      this.#claimed.delete(id)
      throw thrown
    }
  }

  /**
   * Ends a claim. A call that must run again can be claimed again. Of others it is kept that they were answered, so
   * that a later answer gets that error. If that fails, it stays claimed as long as this host lives, so that it does not run
   * twice. Rejects with StoreUnavailable.
   */
  async release(id: string, mustGoOn: boolean): Promise<void> {
    if (!mustGoOn) {
      await this.#store.update('paused', this.#prefix + id, (stored) => {
        const { principal } = readRecord(stored) ?? {}
        return stored && { endedAt: this.#now(), ...(principal !== undefined && { principal }) }
      })
      this.#claimed.delete(id)
      return
    }
    this.#claimed.delete(id)
    await this.#store.update('paused', this.#prefix + id, (stored) => {
      const { claimedBy, ...free } = readRecord(stored) ?? {}
      return claimedBy === this.#owner.id ? asJson(free) : stored
    })
  }

  async #take({ id, answer, principal }: ResumedCall): Promise<PausedRecord> {
    const by = readRecord(await this.#store.read('paused', this.#prefix + id))?.claimedBy
    const isVoid = by !== undefined && by !== this.#owner.id && await this.#owner.isGone(by)
    const taken = await this.#store.update('paused', this.#prefix + id, (stored) => {
      if (endOf(stored) !== undefined && principalIn(stored) === principal) throw alreadyAnswered(id)
      const record = readRecord(stored)
      if (!record || record.principal !== principal) throw new BulkheadError('NotFound', `No paused call has the id ${id}.`, { data: { id } })
      const { claimedBy } = record
      if (claimedBy !== undefined && claimedBy !== this.#owner.id && !(isVoid && claimedBy === by)) {
        throw continuedElsewhere(id)
      }
      return asJson({ ...answered(record, answer), claimedBy: this.#owner.id })
    })
    return readRecord(taken)!
  }

  /** Forgets those that were answered, or wait, for long enough. */
  #purge(records: readonly StoredRecord[]): void {
    const { outcomeMs, pausedMs } = this.#retention
    for (const { key, value } of records) {
      const [end, waits] = [endOf(value), readRecord(value)]
      const isOld = end !== undefined ? this.#now() - end > outcomeMs
        : waits !== undefined && waits.claimedBy === undefined && this.#now() - Date.parse(waits.pausedAt) > pausedMs
      if (isOld) this.#store.remove('paused', key).catch(() => undefined)
    }
  }
}

/** Stores the answer of a paused call by the key of its record. Rejects as `answer` does. */
export async function storeAnswer(store: Store, key: string, answer: Json): Promise<void> {
  const id = key.slice(key.lastIndexOf('/') + 1)
  await store.update('paused', key, (stored) => {
    if (endOf(stored) !== undefined) throw alreadyAnswered(id)
    const record = readRecord(stored)
    if (!record) throw new BulkheadError('NotFound', `No paused call has the id ${id}.`, { data: { id } })
    if (record.claimedBy !== undefined) throw continuedElsewhere(id)
    return asJson(answered(record, answer))
  })
}

/** Paused calls of every workspace that wait for an answer, with the keys of their records. */
export async function waitingCalls(store: Store): Promise<readonly (PausedCall & { readonly key: string })[]> {
  return (await store.list('paused')).flatMap(({ key, value }) => {
    const { id, status, sessionId, principal, call, question, pausedAt } = readRecord(value) ?? {}
    if (status !== 'clarification_needed' || id === undefined) return []
    return [{
      key, id, status, sessionId: sessionId!, call: call!, question: question!, pausedAt: pausedAt!,
      ...(principal !== undefined && { principal }),
    }]
  })
}

/** When a call ended that is over. */
function endOf(stored: Json | undefined): number | undefined {
  const end = isJsonObject(stored) ? stored['endedAt'] : undefined
  return typeof end === 'number' ? end : undefined
}

const principalIn = (stored: Json | undefined): Json | undefined => isJsonObject(stored) ? stored['principal'] : undefined

function answered(record: PausedRecord, answer: Json | undefined): PausedRecord {
  const { id, question, status, asked } = record
  if (status === 'answered') {
    if (answer !== undefined) throw alreadyAnswered(id)
    return record
  }
  return { ...record, status: 'answered', asked: [...asked, { question, answer: checked(question, answer) }] }
}

function checked(question: InteractionRequest, answer: Json | undefined): Json {
  try {
    if (question.kind === 'Approve') requireApproval(answer)
    return readValue(question, answer)
  } catch (thrown) {
    throw new BulkheadError('InputInvalid', messageOf(thrown), { cause: thrown, data: { path: '/answer' } })
  }
}

/** Returns undefined for a record that does not have the stored form. */
function readRecord(value: Json | undefined): PausedRecord | undefined {
  const { call, question, asked } = isJsonObject(value) ? value : {}
  const isRecord = isJsonObject(call) && isJsonObject(question) && Array.isArray(asked)
  return isRecord ? value as unknown as PausedRecord : undefined
}

const alreadyAnswered = (id: string) =>
  new BulkheadError(
    'InteractionAlreadyAnswered', `The question of the paused call ${id} has been answered.`, { data: { id } },
  )
const continuedElsewhere = (id: string) =>
  new BulkheadError('InteractionAlreadyAnswered', `Another host continues the paused call ${id}.`, { data: { id } })

/**
 * Runs a paused call again. Settles when its claim is released or its record is removed. Rejects with NotFound,
 * InteractionAlreadyAnswered, InputInvalid or StoreUnavailable, and then nothing has changed.
 */
export async function goOnWith(
  resumed: ResumedCall, run: (claim: Claim) => Promise<Outcome>,
  { paused, events }: { readonly paused: PausedCalls; readonly events: EventBus },
): Promise<Outcome> {
  const { id } = resumed
  const outcome = await run(await paused.claim(resumed))
  // The outcome counts also if the record cannot be updated.
  await paused.release(id, isStillPaused(outcome)).catch((thrown: unknown) => events.suppressed('paused calls', thrown))
  return outcome
}

/** Paused again, cancelled, or denied by anything but a person before it used its answer. */
function isStillPaused(outcome: Outcome): boolean {
  if (outcome.type === 'output') return false
  const { error: { code, class: errorClass, data }, metadata: { attempt } } = outcome
  if (attempt === 0) return !(isJsonObject(data) && data['source'] === 'person')
  return code === 'ClarificationNeeded' || code === 'HostClosed' || errorClass === 'Cancellation'
}
