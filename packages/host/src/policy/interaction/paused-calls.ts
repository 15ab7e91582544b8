import { hash, randomUUID } from 'node:crypto'
import { BulkheadError, type InteractionRequest, type Outcome, type OutcomeOrigin, type Store, type StoredRecord } from '@bulkhead/contract'
import { asJson, isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { sessionFields, type NamedSession } from '../../model/event-fields.ts'
import type { EventBus } from '../../records/events.ts'
import type { Claimant } from '../../records/owner.ts'
import type { Retention } from '../../records/retention.ts'
import {
  alreadyAnswered, answered, continuedElsewhere, endOf, principalIn, readRecord, shown, storeAnswer,
  type PausedCall, type PausedRecord,
} from './paused-record.ts'
import { identityOf, type AskedQuestion } from './question-log.ts'

/** A call that can be stored until its question is answered. */
export interface PausableCall {
  readonly id: string
  readonly name: string
  readonly args: JsonObject
  /** The arguments as the model sent them, if they were changed. */
  readonly proposed: JsonObject | undefined
  readonly session: NamedSession
  readonly tool: { readonly identity: string; readonly origin: OutcomeOrigin }
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
  /** The host that continues it. */
  readonly claimedBy: string
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

export interface PausedSources {
  readonly store: Store
  readonly workspace: string
  readonly owner: Claimant
  readonly retention: Pick<Retention, 'outcomeMs' | 'pausedMs'>
  readonly now: () => number
  /** Where the outcome of a call is kept. Absent if nothing outlives the process. */
  readonly placeOf?: ((key: string, principal: string | undefined) => string) | undefined
  /** Settles the calls of a host that has ended. Resolves with whether none is left. */
  readonly settleCallsOf: (host: string) => Promise<boolean>
}

interface KeepAs {
  readonly id?: string | undefined
  readonly isAsked?: boolean
}

/** Paused calls of one workspace. They outlive the process. */
export class PausedCalls {
  readonly #store: Store
  readonly #prefix: string
  readonly #owner: Claimant
  readonly #retention: PausedSources['retention']
  readonly #now: () => number
  readonly #sources: PausedSources
  /** Those that this host continues now. */
  readonly #claimed = new Set<string>()

  constructor(sources: PausedSources) {
    const { store, workspace, owner, retention, now } = sources
    this.#sources = sources
    this.#store = store
    this.#retention = retention
    this.#prefix = `${hash('sha256', workspace)}/`
    this.#owner = owner
    this.#now = now
  }

  /**
   * Resolves with the id to answer under when it is stored. A call that pauses again keeps its id. `memory`: what the
   * extension of the tool keeps for the session. `asking`: a person is asked now, under this id, and the call goes on here.
   */
  async keep(
    call: PausableCall, question: InteractionRequest, asked: readonly AskedQuestion[], memory?: Json,
    { id = call.scope.resumption?.id ?? randomUUID(), isAsked = false }: KeepAs = {},
  ): Promise<string> {
    const place = this.#sources.placeOf?.(call.idempotencyKey, call.session.principal?.id)
    const record: PausedRecord = {
      id, status: 'clarification_needed', ...sessionFields(call.session), question, asked,
      call: { id: call.id, name: call.name, arguments: call.proposed ?? call.args },
      identity: identityOf(call), pausedAt: new Date(this.#now()).toISOString(), ...(memory !== undefined && { memory }),
      key: call.idempotencyKey, ...(call.ownKey !== undefined && { ownKey: call.ownKey }),
      ...(isAsked && { askedBy: this.#owner.id, origin: call.tool.origin, ...(place !== undefined && { place }) }),
    }
    await this.#store.write('paused', this.#prefix + id, asJson(record))
    return id
  }

  /**
   * The question of a call is over that was kept while a person was asked. `mayBeStored`: it is not known whether it was
   * stored. Rejects with StoreUnavailable, or with InteractionAlreadyAnswered if others took this host for gone and the
   * call waits for another answer: then it must not run here.
   */
  async askedNoMore(id: string, mayBeStored: boolean): Promise<void> {
    await this.#store.update('paused', this.#prefix + id, (stored) => {
      const askedBy = readRecord(stored)?.askedBy
      if (askedBy === undefined && !(mayBeStored && stored === undefined)) throw continuedElsewhere(id)
      // So that a write that comes late adds nothing.
      return mayBeStored ? { endedAt: this.#now() } : undefined
    })
  }

  async list(): Promise<readonly PausedCall[]> {
    let records = await this.#store.list('paused', this.#prefix)
    if (await this.#settleLeft(records)) records = await this.#store.list('paused', this.#prefix)
    this.#purge(records)
    return records.flatMap(({ value }) => {
      const record = readRecord(value)
      return record === undefined || record.askedBy !== undefined ? [] : [shown(record)]
    })
  }

  /** Hosts that ended while they asked. Resolves with whether there were any. */
  async #settleLeft(records: readonly StoredRecord[]): Promise<boolean> {
    const hosts = new Set(records.flatMap(({ value }) => readRecord(value)?.askedBy ?? []))
    let found = false
    for (const host of hosts) {
      if (this.#owner.isOwn(host) || !await this.#owner.isGone(host)) continue
      found = true
      if (!await this.#sources.settleCallsOf(host)) continue
      // A host that has left otherwise had ended its calls.
      for (const { key, value } of records) {
        if (readRecord(value)?.askedBy !== host) continue
        await this.#store.update('paused', key, (stored) => readRecord(stored)?.askedBy === host ? undefined : stored)
      }
    }
    return found
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
      const { call, identity, asked, memory, key, ownKey, claimedBy } = await this.#take({ id, answer, principal })
      return { call, resumption: { id, identity, asked, memory, key, ownKey, claimedBy } }
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

  async #take({ id, answer, principal }: ResumedCall): Promise<PausedRecord & { readonly claimedBy: string }> {
    const key = this.#prefix + id
    const value = await this.#store.read('paused', key)
    if (value !== undefined) await this.#settleLeft([{ key, value }])
    const by = readRecord(value)?.claimedBy
    const { id: own } = await this.#owner.join()
    const isVoid = by !== undefined && by !== own && await this.#owner.isGone(by)
    const taken = await this.#store.update('paused', key, (stored) => {
      if (endOf(stored) !== undefined && principalIn(stored) === principal) throw alreadyAnswered(id)
      const record = readRecord(stored)
      if (!record || record.principal !== principal) throw new BulkheadError('NotFound', `No paused call has the id ${id}.`, { data: { id } })
      const { claimedBy } = record
      if (record.askedBy !== undefined) throw continuedElsewhere(id)
      if (claimedBy !== undefined && claimedBy !== own && !(isVoid && claimedBy === by)) {
        throw continuedElsewhere(id)
      }
      return asJson({ ...answered(record, answer), claimedBy: own })
    })
    return { ...readRecord(taken)!, claimedBy: own }
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
