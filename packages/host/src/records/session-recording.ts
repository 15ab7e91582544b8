import { hash } from 'node:crypto'
import { BulkheadError, type Store } from '@bulkhead/contract'
import { canonicalJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import {
  callKey, headKey, HEADS, readHead, removeRecorded, valueKey, type RecordedCall, type RecordedOpening, type RecordedValue,
} from './recording-forms.ts'
import type { Redaction } from './redaction.ts'
import type { Retention } from './retention.ts'

export interface RecordingSources {
  readonly store: Store
  readonly redaction: () => Redaction
  readonly retention: Pick<Retention, 'recordMs' | 'recordBytes'>
  readonly now: () => number
  /** Calls that could not be recorded. Called once, and again after a success. */
  readonly failed: (error: unknown) => void
}

/** A longer value is not kept, only its digest. */
export const MAX_VALUE_BYTES = 1024 ** 2
/** Of one session. Further calls are counted. */
export const MAX_SESSION_BYTES = 32 * 1024 ** 2
const MAX_SESSION_CALLS = 20_000
/** What waits for a slow store. */
const MAX_WAITING_BYTES = 16 * 1024 ** 2
/** How long calls wait to be written together. */
const GATHERING_MS = 100
const PURGE_MS = 60 * 60 * 1000

/** What is known of a call that ended. */
export interface EndedCall extends Omit<RecordedCall, 'arguments' | 'outcome'> {
  /** Its place among the calls of its session. */
  readonly number: number
  readonly arguments: Json
  readonly outcome: Json
}

/** Recorded sessions of one host. */
export class Recordings {
  readonly #sources: RecordingSources
  readonly #open = new Set<SessionRecording>()
  #purgedAt = -Infinity
  #purging: Promise<void> = Promise.resolve()

  constructor(sources: RecordingSources) {
    this.#sources = sources
  }

  begin(opening: RecordedOpening): SessionRecording {
    this.#purging = this.#purging.then(() => this.#purge())
    const recording = new SessionRecording(opening, this.#sources, () => void this.#open.delete(recording))
    this.#open.add(recording)
    return recording
  }

  /** Resolves when all calls so far are written or lost. Never rejects. */
  async settled(): Promise<void> {
    await Promise.all([this.#purging, ...[...this.#open].map((recording) => recording.settled())])
  }

  /** Removes sessions that are too old, and the oldest of too many. Never rejects. */
  async #purge(): Promise<void> {
    const { store, now, retention: { recordMs, recordBytes }, failed } = this.#sources
    const at = now()
    if (at - this.#purgedAt < PURGE_MS) return
    this.#purgedAt = at
    try {
      const heads = (await store.list('recording', HEADS)).flatMap(({ value }) => readHead(value) ?? [])
      let bytes = 0
      for (const { id, lastAt, bytes: own } of heads.toSorted((a, b) => a.lastAt < b.lastAt ? 1 : -1)) {
        bytes += own
        if (bytes > recordBytes || at - Date.parse(lastAt) > recordMs) await removeRecorded(store, id)
      }
    } catch (thrown) {
      failed(thrown)
    }
  }
}

/** Records the calls of one session, in batches and after they have ended. */
export class SessionRecording {
  readonly #opening: RecordedOpening
  readonly #sources: RecordingSources
  readonly #ended: () => void
  readonly #begun: number
  /** Digests of values that are written, or wait. */
  readonly #known = new Set<string>()
  #waiting = new Map<string, Json>()
  #waitingBytes = 0
  #count = 0
  #calls = 0
  #bytes = 0
  /** Since the last write. */
  #added = { calls: 0, bytes: 0, missing: 0 }
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  #isBroken = false

  constructor(opening: RecordedOpening, sources: RecordingSources, ended: () => void) {
    this.#opening = opening
    this.#sources = sources
    this.#ended = ended
    this.#begun = sources.now()
  }

  /** The place of the next call. */
  next(): number {
    return this.#count++
  }

  /** Never throws: a call does not depend on its record. */
  add({ number, arguments: args, outcome, ...call }: EndedCall): void {
    const { id } = this.#opening
    this.#timer ??= setTimeout(this.#write, GATHERING_MS).unref()
    if (this.#calls >= MAX_SESSION_CALLS || this.#bytes >= MAX_SESSION_BYTES || this.#waitingBytes >= MAX_WAITING_BYTES) {
      this.#added.missing++
      return
    }
    try {
      const redaction = this.#sources.redaction()
      const values = { arguments: this.#value(redaction.value(args)), outcome: this.#value(redaction.value(outcome)) }
      const row = JSON.stringify({ ...withoutSecrets(call, redaction), ...values })
      this.#put(callKey(id, this.#begun, number), JSON.parse(row) as Json, row.length)
      this.#calls++
      this.#added.calls++
    } catch (thrown) {
      this.#lose(1, thrown)
    }
  }

  /** Resolves when all calls so far are written or lost. Never rejects. */
  settled(): Promise<void> {
    if (this.#timer !== undefined || this.#added.missing > 0) this.#write()
    return this.#writing
  }

  /** The session is over. Never rejects. */
  async end(): Promise<void> {
    await this.settled()
    this.#ended()
  }

  #value(value: Json): RecordedValue {
    const text = canonicalJson(value)
    const digest = hash('sha256', text)
    const bytes = Buffer.byteLength(text)
    if (bytes <= MAX_VALUE_BYTES && !this.#known.has(digest)) {
      this.#known.add(digest)
      this.#put(valueKey(this.#opening.id, digest), value, bytes)
    }
    return { digest, bytes }
  }

  #put(key: string, value: Json, bytes: number): void {
    this.#waiting.set(key, value)
    this.#waitingBytes += bytes
    this.#bytes += bytes
    this.#added.bytes += bytes
  }

  readonly #write = (): void => {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#writing = this.#writing.then(() => this.#writeNow())
  }

  async #writeNow(): Promise<void> {
    const { store, now } = this.#sources
    const [waiting, added, bytes] = [this.#waiting, this.#added, this.#waitingBytes]
    this.#waiting = new Map()
    this.#added = { calls: 0, bytes: 0, missing: 0 }
    let isCounted = false
    try {
      const lastAt = new Date(now()).toISOString()
      // The head first: what it does not name would never be removed.
      await store.update('recording', headKey(this.#opening.id), (stored) => {
        const { calls = 0, bytes: before = 0, missing = 0, ...opening } = readHead(stored) ?? this.#opening as Partial<CountedHead>
        return {
          ...opening, lastAt, calls: calls + added.calls, bytes: before + added.bytes, missing: missing + added.missing,
        } as unknown as JsonObject
      })
      isCounted = true
      await Promise.all([...waiting].map(([key, value]) => store.write('recording', key, value)))
      this.#isBroken = false
    } catch (thrown) {
      this.#lose(added.calls + (isCounted ? 0 : added.missing), thrown)
      if (isCounted) this.#added.calls -= added.calls
    } finally {
      this.#waitingBytes -= bytes
    }
  }

  #lose(calls: number, thrown: unknown): void {
    this.#added.missing += calls
    this.#known.clear()
    if (this.#isBroken) return
    this.#isBroken = true
    this.#sources.failed(BulkheadError.from(thrown, 'StoreUnavailable'))
  }
}

/** The names may be those of a model. */
function withoutSecrets<Call extends Omit<EndedCall, 'number' | 'arguments' | 'outcome'>>(call: Call, { text }: Redaction): Call {
  const { id, tool, reason, metadata } = call
  return {
    ...call, id: text(id), tool: text(tool), ...(reason !== undefined && { reason: text(reason) }),
    metadata: { ...metadata, call_id: text(metadata.call_id), tool: text(metadata.tool) },
  }
}

interface CountedHead extends RecordedOpening {
  readonly calls: number
  readonly bytes: number
  readonly missing: number
}
