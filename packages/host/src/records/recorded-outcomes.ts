import { hash } from 'node:crypto'
import { BulkheadError, type Outcome, type Store } from '@bulkhead/contract'
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { errorBody } from '../model/outcome.ts'
import { KeptSteps, stepsKey, type StepsPlace } from './kept-steps.ts'
import type { Claimant } from './owner.ts'
import type { Redaction } from './redaction.ts'

/** A call with an idempotency key of its caller. */
export interface KeyedCall extends StepsPlace {
  /** Random: shows that a claim of the key is that of this call, also if the answer to it was lost. */
  readonly claim: string
}

interface OutcomeRecord {
  readonly digest: string
  /** Milliseconds since 1970: when it was claimed or recorded. */
  readonly at: number
  /** The host that runs the call. */
  readonly by?: string
  /** The claim of the call that runs, or that another host settled as unknown. */
  readonly claim?: string
  readonly outcome?: Outcome
}

export interface OutcomeSources {
  readonly store: Store
  readonly workspace: string
  readonly owner: Claimant
  /** How long an outcome is kept. */
  readonly keptMs: number
  readonly now: () => number
  readonly redaction: () => Redaction
  /** Settles the calls of hosts that have ended since. Resolves with whether none of that host is left. */
  readonly settleCallsOf: (owner: string) => Promise<boolean>
}

const MAX_BYTES = 1024 ** 2
const PURGE_MS = 60 * 60 * 1000
/** How places of outcomes begin. A day may have more outcomes than fit into memory, so they are read in parts. */
const PARTS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
/** How long after a failure an outcome is stored again. */
const STORE_AGAIN_MS = 1_000

/**
 * Outcomes of calls with an idempotency key. A key is claimed before its call runs, so that of several calls with one
 * key, also of several processes, one runs. It stays claimed until the outcome is stored, or the call ended with an
 * error before it had begun anything: then the key is free again.
 */
export class RecordedOutcomes {
  readonly #sources: OutcomeSources
  readonly #prefix: string
  #purgedAt = 0

  constructor(sources: OutcomeSources) {
    this.#sources = sources
    this.#prefix = `${hash('sha256', sources.workspace)}/`
  }

  /** What keeps the results of the steps of a call. */
  stepsOf(place: StepsPlace): KeptSteps {
    const { store, now } = this.#sources
    return new KeptSteps({ ...place, store, now })
  }

  /** The key of one principal is not that of another. */
  keyed(key: string, principal: string | undefined, tool: string, args: JsonObject): StepsPlace {
    return {
      place: this.placeOf(key, principal),
      digest: hash('sha256', canonicalJson([tool, args])),
    }
  }

  /**
   * Resolves with the recorded outcome, or with undefined if the call may run: then `end` must follow. Rejects with
   * IdempotencyKeyReused, IdempotencyKeyInUse or StoreUnavailable: then nothing stays claimed for the call. `continues`:
   * the call continues after a pause.
   */
  async claim(call: KeyedCall, continues: boolean): Promise<Outcome | undefined> {
    void this.#purge()
    const found = await this.#take(call, continues)
    if (found === undefined) return undefined
    if (found.digest !== call.digest) throw keyReused()
    if (found.outcome !== undefined) return found.outcome
    const { owner, settleCallsOf, store } = this.#sources
    const by = found.by!
    if (by === owner.id || !await owner.isGone(by) || !await settleCallsOf(by)) throw keyInUse()
    // What is still claimed had begun nothing: a call is noted before it begins something.
    await store.update('outcome', call.place, (stored) => free(stored, by))
    const again = await this.#take(call, continues)
    if (again === undefined) return undefined
    if (again.digest !== call.digest) throw keyReused()
    if (again.outcome === undefined) throw keyInUse()
    return again.outcome
  }

  /** Rejects with StoreUnavailable: then the key stays claimed. `hasBegun`: the call began what can have an effect. */
  async end(call: KeyedCall, outcome: Outcome, hasBegun: boolean): Promise<void> {
    const isPaused = outcome.type === 'error' && outcome.error.code === 'ClarificationNeeded'
    if (outcome.type === 'error' && !hasBegun && !isPaused) return this.#free(call)
    const { store, now, redaction } = this.#sources
    const { place, digest, claim } = call
    const redacted = redaction().value(outcome as unknown as Json) as unknown as Outcome
    const record = { digest, at: now(), outcome: kept(redacted) }
    await store.update('outcome', place, (stored) => {
      // Others may have settled the call, because they took this host for gone. It knows better, unless one runs it again.
      const found = readRecord(stored)
      return found === undefined || found.claim === claim ? record as unknown as JsonObject : stored!
    })
  }

  /** The same, again and again as long as the process lives. `stored` is called then. */
  endLater(call: KeyedCall, outcome: Outcome, hasBegun: boolean, stored: () => void): void {
    this.#later(() => this.end(call, outcome, hasBegun).then(stored))
  }

  #later(work: () => Promise<void>): void {
    setTimeout(() => {
      work().catch((thrown: unknown) => { if (!isClosed(thrown)) this.#later(work) })
    }, STORE_AGAIN_MS).unref()
  }

  /** Claims the key unless there is a record that stands. Resolves with that record. */
  async #take(call: KeyedCall, continues: boolean): Promise<OutcomeRecord | undefined> {
    const { store, owner, now, keptMs } = this.#sources
    const { place, digest, claim } = call
    const { id: by } = await owner.join()
    const at = now()
    let earlier: OutcomeRecord | undefined
    try {
      await store.update('outcome', place, (stored) => {
        const record = readRecord(stored)
        const isOver = record === undefined || (record.by === undefined && at - record.at > keptMs)
        const goesOn = continues && record?.digest === digest && record.outcome?.type === 'error'
          && record.outcome.error.code === 'ClarificationNeeded'
        // The store tries again after a lost answer, and then finds its own claim.
        const isOwn = record?.by !== undefined && record.claim === claim
        earlier = isOver || goesOn || isOwn ? undefined : record
        return earlier === undefined ? { digest, at, by, claim } : stored
      })
    } catch (thrown) {
      // It may have taken effect, and the call does not run.
      this.#later(() => this.#free(call))
      throw thrown
    }
    return earlier
  }

  /** Leaves a record, so that a claim that comes late finds it, and adds nothing. */
  async #free({ place, digest, claim }: KeyedCall): Promise<void> {
    const { store, now } = this.#sources
    const record = { digest, at: now() }
    await store.update('outcome', place, (stored) => {
      const found = readRecord(stored)
      return found === undefined || found.claim === claim ? record : stored!
    })
  }

  /** Where the outcome of a call with this key is kept. */
  placeOf(key: string, principal: string | undefined): string {
    return this.#prefix + hash('sha256', JSON.stringify([principal ?? null, key]))
  }

  /**
   * Of calls that wait for a person, the steps are kept as long as they wait. Never rejects: what fails is done later.
   */
  async #purge(): Promise<void> {
    const { store, now, keptMs } = this.#sources
    const at = now()
    if (at - this.#purgedAt < PURGE_MS) return
    this.#purgedAt = at
    const isOld = (value: Json | undefined): boolean => {
      const { at: madeAt, by } = isJsonObject(value) ? value : {} as JsonObject
      return by === undefined && at - (typeof madeAt === 'number' ? madeAt : 0) > keptMs
    }
    try {
      const waiting = new Set((await store.list('paused', this.#prefix)).flatMap(({ value }) => {
        const { key, principal } = isJsonObject(value) ? value : {} as JsonObject
        return typeof key !== 'string' ? []
          : [stepsKey(this.placeOf(key, typeof principal === 'string' ? principal : undefined))]
      }))
      for (const part of PARTS) {
        for (const { key, value } of await store.list('outcome', this.#prefix + part)) {
          // Another call may have claimed it since.
          const remove = (stored: Json | undefined): Json | undefined => isOld(stored) ? undefined : stored
          if (isOld(value) && !waiting.has(key)) await store.update('outcome', key, remove)
        }
      }
    } catch {
      // A store that is slow or gone is not asked at each call.
    }
  }
}

/** Settles the key of a call that a host left open when it ended. Rejects with StoreUnavailable. */
export async function settleKey(store: Store, place: string, by: string, unknown: Outcome | undefined): Promise<void> {
  await store.update('outcome', place, (stored) => {
    if (unknown === undefined) return free(stored, by)
    const { by: runner, ...record } = readRecord(stored) ?? {}
    return runner === by ? { ...record, outcome: unknown } as unknown as JsonObject : stored
  })
}

/** Without the claim of that host. undefined removes the record. */
const free = (stored: Json | undefined, by: string): Json | undefined =>
  readRecord(stored)?.by === by ? undefined : stored

const isClosed = (thrown: unknown): boolean =>
  BulkheadError.is(thrown) && isJsonObject(thrown.data) && thrown.data['reason'] === 'closed'

/** undefined for that of a key that is free, and one of an unknown form. */
function readRecord(stored: Json | undefined): OutcomeRecord | undefined {
  const { digest, at, by, outcome } = isJsonObject(stored) ? stored : {} as JsonObject
  const isRecord = typeof digest === 'string' && typeof at === 'number'
    && (typeof by === 'string' || isJsonObject(outcome))
  return isRecord ? stored as unknown as OutcomeRecord : undefined
}

/** A longer outcome is not kept, only that there was one. */
function kept(outcome: Outcome): Outcome {
  const bytes = Buffer.byteLength(JSON.stringify(outcome))
  if (bytes <= MAX_BYTES) return outcome
  const message = 'A call with this idempotency key has ended, and was not repeated. Its outcome has '
    + `${bytes} bytes, and at most ${MAX_BYTES} are kept.`
  return { ...errorBody(new BulkheadError('OutputTooLarge', message)), metadata: outcome.metadata }
}

const keyReused = (): BulkheadError => new BulkheadError(
  'IdempotencyKeyReused',
  'The idempotency key was used for a call of another tool, or with other arguments. Nothing was run.',
)
const keyInUse = (): BulkheadError => new BulkheadError(
  'IdempotencyKeyInUse', 'A call with this idempotency key is under way. Nothing was run.',
)
