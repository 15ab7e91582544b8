import { BulkheadError, type BulkheadEvent, type ConfigFile, type Manifest, type Store } from '@bulkhead/contract'
import { AuditBatch, CallForms, KEPT } from './audit-forms.ts'
import type { EventBus } from './events.ts'
import { createRedaction, isSecretName, type Redaction } from './redaction.ts'

export interface AuditOptions {
  readonly store: Store
  /** As it is now. */
  readonly redaction: () => Redaction
  /** Whether the arguments of calls are kept, and not their digest alone. */
  readonly keepArguments: boolean
  /** Told once when records begin to be lost, and again after it has worked in between. */
  readonly failed: (error: unknown) => void
}

/** How long what happened may wait to be written with what happens next: each time, a disk has to be waited for. */
const GATHERING_MS = 25
/** Of what is written together; more is written at once. */
const MOST_TOGETHER = 4_096
/** Groups that the store has not answered for. While there are as many, what happens is gathered for longer. */
const MOST_UNANSWERED = 8
/** Characters that wait for a store that does not keep up, about 200,000 calls; what happens beyond that is lost, and counted. */
const MOST_WAITING = 2 ** 26
/** When so many have happened they are made into records in the next turn, so that not all of it is left to do when they are written. */
const AT_A_TIME = 32
/** So many are not kept waiting for it: what they hold is at hand now, and soon no longer. */
const AT_ONCE = 128

/**
 * Writes down what happens, in its order, without holding anything up: what happens within a moment is made into records, and
 * written, together. A record that could not be kept is counted, and the next one that can be says how many are missing before it.
 */
export class AuditTrail {
  readonly #options: AuditOptions
  readonly #pending = new Set<Promise<void>>()
  #heard: BulkheadEvent[] = []
  #gathering = new AuditBatch()
  #redaction: Redaction | undefined
  #calls: CallForms | undefined
  #timer: NodeJS.Timeout | undefined
  #lost = 0
  /** Lost after what is gathered, and not before it. */
  #unheard = 0
  #fault: BulkheadError | undefined
  /** Why records are being lost now. */
  #broken: BulkheadError | undefined
  #losses = 0

  constructor(options: AuditOptions) {
    this.#options = options
  }

  /** A listener of events. */
  readonly hear = (event: BulkheadEvent): void => {
    // The secrets that it may hold can be gone by the time it is written.
    this.#options.redaction()
    const waiting = this.#heard.push(event)
    // The next turn comes when this call is on its way to its tool, and there is time while it runs.
    if (waiting === AT_A_TIME) setImmediate(this.#prepare)
    else if (waiting >= AT_ONCE) this.#prepare()
    // Not the host's clock: how much is gathered is nothing that happens.
    this.#timer ??= setTimeout(this.#write, GATHERING_MS).unref()
  }

  /** Resolves when all that happened until now was written, or could not be. Never rejects. */
  async settled(): Promise<void> {
    this.#writeNow()
    await Promise.all(this.#pending)
  }

  /**
   * Resolves when all that happened until now is as durable as the store is. Rejects with StoreUnavailable when some of it,
   * since the last flush, is not.
   */
  async flush(): Promise<void> {
    await this.settled()
    const fault = this.#fault
    this.#fault = undefined
    if (fault !== undefined) throw fault
  }

  /** How often records were lost. For `recorded`, taken before what must be recorded happens. */
  get losses(): number {
    return this.#losses
  }

  /** Why the last records could not be kept, until some are kept again. */
  get broken(): BulkheadError | undefined {
    return this.#broken
  }

  /** Resolves when all that happened until now is written. Rejects with StoreUnavailable when something was lost since `losses` was `since`. */
  async recorded(since: number): Promise<void> {
    await this.settled()
    if (this.#losses !== since) throw this.#broken ?? new BulkheadError('StoreUnavailable', 'A record of the audit was lost.')
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
    this.#lost += this.#unheard
    this.#unheard = 0
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
    for (const event of this.#heard) this.#gathering.add(event, this.#calls, redaction)
    this.#heard = []
  }

  #keep(gathered: AuditBatch): void {
    const missing = this.#lost
    if (missing > 0) gathered.noteLost(missing)
    this.#lost = 0
    const kept = this.#append(gathered, missing)
    this.#pending.add(kept)
    void kept.then(() => {
      this.#pending.delete(kept)
      // Whatever came while there were too many has waited long enough.
      if (this.#pending.size === MOST_UNANSWERED - 1) this.#write()
    })
  }

  /** Contract: never rejects. */
  async #append(gathered: AuditBatch, missing: number): Promise<void> {
    const { store } = this.#options
    const { rows } = gathered
    // One by one, all are asked for at once, so that they keep their order.
    const asked = store.appendAll ? [store.appendAll(gathered)] : gathered.records().map((record) => store.append(record))
    const results = await Promise.allSettled(asked)
    const failed = results.filter((result) => result.status === 'rejected')
    const [first] = failed
    if (first === undefined) {
      this.#broken = undefined
      return
    }
    const lost = store.appendAll ? rows.length : failed.length
    // The first record says what was missing before it, where it was kept.
    this.#lose(lost + (results[0] === first ? missing : 0), first.reason)
  }

  #overflow(): void {
    if (this.#heard.length === 0) return
    this.#unheard += this.#heard.length
    this.#heard = []
    const waiting = this.#gathering.rows.length
    this.#lose(0, new BulkheadError('StoreUnavailable', `${waiting} records of the audit wait for the store, and more are not kept. See what holds up its disk.`))
  }

  #lose(count: number, error: unknown): void {
    this.#lost += count
    this.#losses++
    this.#fault = BulkheadError.from(error, 'StoreUnavailable')
    const isTold = this.#broken !== undefined
    this.#broken = this.#fault
    if (!isTold) this.#options.failed(error)
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
  /** What is registered now: another list after each change. */
  readonly registered: () => readonly Registered[]
}

/**
 * The audit of a host, listening. Undefined if it is disabled, or not configured while nothing would outlive the host. One that
 * is required is never switched off, and a store that forgets cannot be it.
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

/** An extension that was never called ends with its host without having run. That is not recorded. */
const isOfNoLife = (event: BulkheadEvent): boolean =>
  event.type === 'LifecycleStateChanged' && event.from === 'validated' && event.to === 'disposed'

/** Knows the secrets of everything that is, or ever was, registered. Looks again only after that has changed. */
function secretsOf(registered: AuditSources['registered'], env: AuditSources['env']): () => Redaction {
  const known = new Set<string>()
  let redaction = createRedaction(known)
  let seen: readonly Registered[] | undefined
  return () => {
    const now = registered()
    if (now === seen) return redaction
    seen = now
    // A token that is handed over as a plain variable is no less one.
    const names = now.flatMap(({ descriptor: { manifest: { env: variables, secrets } } }) =>
      [...variables.filter(isSecretName), ...secrets.map(({ name }) => name)])
    for (const name of names) known.add(env(name) ?? '')
    redaction = createRedaction(known)
    return redaction
  }
}
