import { BulkheadError, type BulkheadEvent, type ConfigFile, type Manifest, type Store } from '@bulkhead/contract'
import { isSecretName } from '@bulkhead/kit/text'
import { AuditBatch, CallForms, KEPT } from './audit-forms.ts'
import type { EventBus } from './events.ts'
import { createRedaction, type Redaction } from './redaction.ts'

export interface AuditOptions {
  readonly store: Store
  /** The present redaction. */
  readonly redaction: () => Redaction
  /** Whether arguments are recorded, not only their digest. */
  readonly keepArguments: boolean
  /** Called once when records are lost, and again if that happens after a success. */
  readonly failed: (error: unknown) => void
}

/** How long records wait to be written together, because each write waits for the disk. */
const GATHERING_MS = 25
/** The most records of one write. More are written at once. */
const MOST_TOGETHER = 4_096
/** The most pending writes. Further records wait. */
const MOST_UNANSWERED = 8
/** The most characters that wait for a slow store, about 200,000 calls. Further records are lost, and counted. */
const MOST_WAITING = 2 ** 26
/** After this many events, records are made in the next turn of the event loop, not all at the time of the write. */
const AT_A_TIME = 32
/** After this many events, records are made at once, while their data is cheap to reach. */
const AT_ONCE = 128

/**
 * Records events in order without delaying the host: records are made and written in batches. Records that are lost are
 * counted, and the next one has their number.
 */
export class AuditTrail {
  readonly #options: AuditOptions
  readonly #pending = new Set<Promise<void>>()
  #events: BulkheadEvent[] = []
  #gathering = new AuditBatch()
  #redaction: Redaction | undefined
  #calls: CallForms | undefined
  #timer: NodeJS.Timeout | undefined
  #lost = 0
  /** Events that were lost after the current batch. */
  #dropped = 0
  #fault: BulkheadError | undefined
  /** Why records are being lost now. */
  #broken: BulkheadError | undefined
  #losses = 0

  constructor(options: AuditOptions) {
    this.#options = options
  }

  /** A listener of events. */
  readonly hear = (event: BulkheadEvent): void => {
    // The values of its secrets may have changed when it is written.
    this.#options.redaction()
    const waiting = this.#events.push(event)
    // The next turn of the event loop comes while the call runs in its compartment.
    if (waiting === AT_A_TIME) setImmediate(this.#prepare)
    else if (waiting >= AT_ONCE) this.#prepare()
    // Not the clock of the host: batching is not part of its behaviour.
    this.#timer ??= setTimeout(this.#write, GATHERING_MS).unref()
  }

  /** Resolves when all events so far are written or lost. Never rejects. */
  async settled(): Promise<void> {
    this.#writeNow()
    await Promise.all(this.#pending)
  }

  /**
   * Resolves when all events so far are as durable as the store makes them. Rejects with StoreUnavailable if some since
   * the last flush are not.
   */
  async flush(): Promise<void> {
    await this.settled()
    const fault = this.#fault
    this.#fault = undefined
    if (fault !== undefined) throw fault
  }

  /** How often records were lost. Read it before the event that `recorded` waits for. */
  get losses(): number {
    return this.#losses
  }

  /** Why the last records were lost, until a write succeeds. */
  get broken(): BulkheadError | undefined {
    return this.#broken
  }

  /** Resolves when all events so far are written. Rejects with StoreUnavailable if `losses` is not `since` any more. */
  async recorded(since: number): Promise<void> {
    await this.settled()
    if (this.#losses !== since) {
      throw this.#broken ?? new BulkheadError('StoreUnavailable', 'A record of the audit was lost.')
    }
  }

  readonly #write = (): void => {
    if (this.#pending.size < MOST_UNANSWERED) this.#writeNow()
  }

  #writeNow(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#gather()
    const gathered = this.#gathering
    if (gathered.rows.length === 0) return
    this.#gathering = new AuditBatch()
    this.#keep(gathered)
    this.#lost += this.#dropped
    this.#dropped = 0
  }

  readonly #prepare = (): void => {
    this.#gather()
    if (this.#gathering.rows.length >= MOST_TOGETHER) this.#write()
  }

  #gather(): void {
    if (this.#gathering.chars >= MOST_WAITING) this.#overflow()
    const redaction = this.#options.redaction()
    if (this.#calls === undefined || redaction !== this.#redaction) {
      this.#redaction = redaction
      this.#calls = new CallForms(redaction, this.#options.keepArguments)
    }
    for (const event of this.#events) this.#gathering.add(event, this.#calls, redaction)
    this.#events = []
  }

  #keep(gathered: AuditBatch): void {
    const missing = this.#lost
    if (missing > 0) gathered.noteLost(missing)
    this.#lost = 0
    const kept = this.#append(gathered, missing)
    this.#pending.add(kept)
    void kept.then(() => {
      this.#pending.delete(kept)
      // Write what waited because too many writes were pending.
      if (this.#pending.size === MOST_UNANSWERED - 1) this.#write()
    })
  }

  /** Contract: never rejects. */
  async #append(gathered: AuditBatch, missing: number): Promise<void> {
    const { store } = this.#options
    const { rows } = gathered
    // All requests are sent at once, so that they keep their order.
    const asked = store.appendAll
      ? [store.appendAll(gathered)] : gathered.records().map((record) => store.append(record))
    const results = await Promise.allSettled(asked)
    const failed = results.filter((result) => result.status === 'rejected')
    const [first] = failed
    if (first === undefined) {
      this.#broken = undefined
      return
    }
    const lost = store.appendAll ? rows.length : failed.length
    // The first record has the number of lost ones before it, if it was written.
    this.#lose(lost + (results[0] === first ? missing : 0), first.reason)
  }

  #overflow(): void {
    if (this.#events.length === 0) return
    this.#dropped += this.#events.length
    this.#events = []
    const waiting = this.#gathering.rows.length
    this.#lose(0, new BulkheadError(
      'StoreUnavailable',
      `${waiting} records of the audit wait for the store, and more are not kept. See what holds up its disk.`,
    ))
  }

  #lose(count: number, error: unknown): void {
    this.#lost += count
    this.#losses++
    this.#fault = BulkheadError.from(error, 'StoreUnavailable')
    const isReported = this.#broken !== undefined
    this.#broken = this.#fault
    if (!isReported) this.#options.failed(error)
  }
}

interface Registered {
  readonly descriptor: { readonly manifest: Pick<Manifest, 'env' | 'secrets'> }
}

export interface AuditSources {
  readonly config: ConfigFile['audit']
  readonly store: Store
  readonly events: EventBus
  readonly env: (name: string) => string | undefined
  /** The registered extensions. A new list after each change. */
  readonly registered: () => readonly Registered[]
}

/**
 * The audit of a host, subscribed to its events. Undefined if it is disabled, or not configured and the store forgets.
 * A required audit is never disabled, and needs a store that does not forget.
 */
export function openAudit({ config, store, events, env, registered }: AuditSources): AuditTrail | undefined {
  if (config?.require ? store.forgets === true : !(config?.enabled ?? store.forgets !== true)) return undefined
  const trail = new AuditTrail({
    store,
    redaction: secretsOf(registered, env),
    keepArguments: config?.arguments === true,
    failed: (error) => events.suppressed('audit', error),
  })
  events.on((event) => {
    if (!isOfNoLife(event)) trail.hear(event)
  }, KEPT)
  return trail
}

/** The end of an extension that never ran is not recorded. */
const isOfNoLife = (event: BulkheadEvent): boolean =>
  event.type === 'LifecycleStateChanged' && event.from === 'validated' && event.to === 'disposed'

/** The secrets of everything that is or was registered. Updated after each change. */
export function secretsOf(registered: AuditSources['registered'], env: AuditSources['env']): () => Redaction {
  const known = new Set<string>()
  let redaction = createRedaction(known)
  let seen: readonly Registered[] | undefined
  return () => {
    const now = registered()
    if (now === seen) return redaction
    seen = now
    // A variable with the name of a secret counts as one.
    const names = now.flatMap(({ descriptor: { manifest: { env: variables, secrets } } }) =>
      [...variables.filter(isSecretName), ...secrets.map(({ name }) => name)])
    for (const name of names) known.add(env(name) ?? '')
    redaction = createRedaction(known)
    return redaction
  }
}
