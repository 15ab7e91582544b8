import {
  BulkheadError, layerRank, type Clock, type Diagnostic, type ExtensionDescriptor, type LoadReport,
} from '@bulkhead/contract'
import { registrationDiagnostic, type Candidate } from '../registry/candidate.ts'
import type { EventBus } from '../../records/events.ts'
import type { Extension } from '../lifecycle/extension.ts'
import type { Starter } from '../lifecycle/start.ts'
import type { Leases } from '../../model/waiting.ts'
import { isCandidate, type Registry } from '../registry/registry.ts'
import { Settings } from '../../model/settings.ts'
import { Attempt, errorOf, prove, type SmokeCheck } from './trial.ts'
import {
  ChangeWatch, TrustDecisions, type ReloadChange, type ReloadReport, type ReloadRequest, type ReportSource,
} from './report.ts'
import { descriptorOf, differences, keyOf, notFound, wayBeside, wayOf, type Change } from './plan.ts'
import type { Retirement } from './retirement.ts'

export interface ReloaderSources {
  readonly registry: Registry
  readonly retirement: Retirement
  readonly turns: Leases
  readonly report: LoadReport
  readonly source: ReportSource | undefined
  readonly check: SmokeCheck | undefined
  readonly starter: Starter | undefined
  readonly events: EventBus
  readonly clock: Clock
  /** Another report is in effect. Contract: must not throw. */
  readonly onReport: () => void
}

/** What one reload has decided so far. */
interface Round {
  readonly attempt: Attempt
  readonly changes: Map<string, ReloadChange>
  readonly taken: { readonly candidate: Candidate; readonly from: Extension | undefined; readonly exchanged: boolean }[]
  /** Exchanges that end after the swap. */
  readonly exchanges: Promise<void>[]
}

/**
 * Updates the registry to the current extensions, one reload at a time.
 *
 *   load ▶ compare ▶ start the new beside the old ▶ smoke check ▶ swap in one step ▶ let go of the old
 *    └─ fails: nothing has changed   └───────┴─ fails: the last good one stays, and the report has the reason
 */
export class Reloader {
  readonly #sources: ReloaderSources
  readonly #watch: ChangeWatch
  readonly #stopWatching: (() => void) | undefined
  /** Why the last reload of an extension failed, until one succeeds. */
  readonly #faults = new Map<string, Diagnostic>()
  readonly #deferred = new Set<string>()
  /** Extensions whose old version is ending and whose new one is not proved yet. */
  readonly #exchanging = new Map<string, Promise<void>>()
  readonly #trust: TrustDecisions
  #apart = new Set<string>()
  #report: LoadReport
  #last: Promise<unknown> = Promise.resolve()
  /** The next reload, for all requests that wait. */
  #next: Promise<ReloadReport> | undefined
  #attempt: Attempt | undefined
  #closed: BulkheadError | undefined

  constructor(sources: ReloaderSources) {
    this.#sources = sources
    this.#report = sources.report
    this.#trust = new TrustDecisions(sources.events)
    // Later, so that the audit and early listeners receive it.
    queueMicrotask(() => this.#trust.taken(sources.report))
    this.#watch = new ChangeWatch(sources.clock, () => {
      this.reload().catch((thrown: unknown) => sources.events.suppressed('reload', thrown))
    })
    this.#stopWatching = sources.source?.watch?.(() => this.#watch.changed())
  }

  /** The newest one. */
  get report(): LoadReport {
    return this.#report
  }

  /** Those of the newest report, and of reloads that failed since. */
  get diagnostics(): readonly Diagnostic[] {
    return [...this.#report.diagnostics, ...this.#faults.values()]
  }

  reload(request: ReloadRequest = {}): Promise<ReloadReport> {
    if (request.report || request.extensions) return this.#begin(async () => request)
    this.#next ??= this.#begin(async () => {
      this.#next = undefined
      return request
    })
    return this.#next
  }

  /** Registered by the embedder, so that no report adds or removes it. */
  setApart(descriptors: readonly ExtensionDescriptor[]): void {
    for (const descriptor of descriptors) this.#apart.add(keyOf(descriptor))
  }

  /** A failure shows as its state; its first call tries again. */
  startEager(): void {
    const { registry, starter } = this.#sources
    for (const extension of registry.eager()) extension.start(starter).catch(() => {})
  }

  /** Runs after the current change of the registry. */
  queue<Value>(change: () => Value | Promise<Value>): Promise<Value> {
    const result = this.#last.then(() => {
      this.#throwIfClosed()
      return change()
    })
    this.#last = result.catch(() => {})
    return result
  }

  /** Stops all changes. Resolves when the current reload has ended. */
  async close(reason: BulkheadError): Promise<void> {
    this.#closed ??= reason
    this.#watch.stop()
    const ended = (async () => this.#stopWatching?.())()
    ended.catch((thrown: unknown) => this.#sources.events.suppressed('the end of watching', thrown))
    await this.#attempt?.abandon(reason)
    await this.#last
  }

  #throwIfClosed(): void {
    if (this.#closed) throw this.#closed
  }

  /** Work after the swap does not delay other changes. */
  async #begin(request: () => Promise<ReloadRequest>): Promise<ReloadReport> {
    const round = await this.queue(async () => this.#swap(await request()))
    await Promise.all(round.exchanges)
    return { changes: this.#conclude(round) }
  }

  async #swap(request: ReloadRequest): Promise<Round> {
    const { registry, retirement, check, starter, clock } = this.#sources
    const report = request.report ?? await this.#load()
    this.#throwIfClosed()
    const settings = new Settings(report.config)
    const only = request.extensions && new Set(request.extensions)
    registry.learnLocked(report.extensions)
    const { candidates: current, unprepared, settings: before } = registry
    // A report may add an extension again that the embedder has unregistered.
    this.#apart =
      this.#apart.intersection(new Set([...current, ...unprepared].map(({ descriptor }) => keyOf(descriptor))))
    const found = differences({ current, unprepared, before, report, after: settings, apart: this.#apart, only })
    for (const id of only ?? []) {
      if (!registry.extension(id) && !found.some((change) => descriptorOf(change).id === id)) throw notFound(id, report)
    }
    const round: Round = {
      attempt: new Attempt({ registry, settings, check, starter, clock }), changes: new Map(), taken: [], exchanges: [],
    }
    const there = new Set(report.extensions.map(keyOf))
    round.attempt.keepUnprepared((descriptor) => there.has(keyOf(descriptor)))
    for (const change of found) this.#examine(change, round, only !== undefined)

    this.#attempt = round.attempt
    const proposal = await round.attempt.prove(() => this.#throwIfClosed()).finally(() => {
      this.#attempt = undefined
    })
    const taken = round.taken.filter(({ candidate }) => !round.attempt.failed.has(keyOf(candidate.descriptor)))
    for (const { candidate, from, exchanged } of taken) {
      if (from && exchanged) candidate.extension.startAfter(Promise.resolve().then(() => retirement.left(from)))
    }
    retirement.retire(registry.commit(proposal), replaced())
    for (const { candidate } of taken) retirement.welcome(candidate.extension)
    this.#report = report
    this.#trust.taken(report)
    this.#sources.onReport()
    this.startEager()
    for (const { candidate, from, exchanged } of taken) {
      if (exchanged) round.exchanges.push(this.#exchange(round, candidate, from!))
    }
    return round
  }

  #load(): Promise<LoadReport> {
    const { source } = this.#sources
    if (source) return source.load()
    const message = 'The host has no source of extensions. Pass a report to `reload`, or a source to the host.'
    throw new BulkheadError('ReloadRefused', message)
  }

  /** Decides what to do about one difference. */
  #examine(change: Change, { attempt, changes, taken }: Round, isForced: boolean): void {
    const { registry, retirement, turns } = this.#sources
    const about = descriptorOf(change)
    const { id, layer } = about
    const note = (result: ReloadChange['result'], error?: BulkheadError) => {
      changes.set(keyOf(about), { extension: id, layer, result, generation: undefined, ...(error ? { error } : {}) })
    }
    if (change.kind === 'removed') {
      attempt.drop(change.old)
      return note('removed')
    }
    if (change.kind === 'broken') return note('failed', errorOf(change.diagnostic))

    const { descriptor } = change
    const old = change.kind === 'changed' ? change.old : undefined
    // A replacement now could not be rolled back.
    const exchange = this.#exchanging.get(id)
    if (exchange) {
      this.#later(id, exchange, isForced)
      return note('deferred')
    }
    const serving = registry.extension(id)
    const isTakenOver = serving && layerRank(serving.descriptor.layer) <= layerRank(layer)
    const leaving = retirement.generations(id)
    const way = isTakenOver
      ? wayOf(serving, descriptor, { openTurns: turns.size, leaving: leaving.length })
      : wayBeside(serving ? [] : leaving, descriptor)
    if (way.kind === 'refuse') return note('refused', way.error)
    if (way.kind === 'wait') {
      this.#later(id, way.until === 'turns' ? turns.whenNone() : retirement.oneLeft(id), isForced)
      return note('deferred')
    }
    const candidate = attempt.take(descriptor, old, way.kind === 'shadow' || (way.kind === 'replace' && isForced))
    if (candidate) taken.push({ candidate, from: serving, exchanged: way.kind === 'exchange' })
    note(old ? 'reloaded' : 'added')
  }

  /** Tries again when `free` resolves. */
  #later(id: string, free: Promise<void>, isForced: boolean): void {
    const { events, source } = this.#sources
    if (this.#deferred.has(id)) return
    this.#deferred.add(id)
    void free.then(() => {
      this.#deferred.delete(id)
      if (this.#closed) return undefined
      return this.#begin(async () => {
        const report = source ? await source.load() : this.#report
        return { report, ...(isForced ? { extensions: [id] } : {}) }
      })
    }).catch((thrown: unknown) => {
      if (!this.#closed) events.suppressed('reload', thrown)
    })
  }

  /** The old one is ending. If the new one fails, the old one comes back. Never rejects. */
  #exchange({ attempt }: Round, candidate: Candidate, from: Extension): Promise<void> {
    const { id } = candidate.descriptor
    const exchange = prove(candidate.extension, this.#sources).catch((thrown: unknown) => {
      const error = BulkheadError.from(thrown)
      attempt.failed.set(keyOf(candidate.descriptor), error)
      // A host that closes brings nothing back.
      return this.queue(() => this.#bringBack(from, candidate, error)).catch(() => {})
    }).finally(() => this.#exchanging.delete(id))
    this.#exchanging.set(id, exchange)
    return exchange
  }

  #bringBack(from: Extension, failed: Candidate, error: BulkheadError): void {
    const { registry, retirement } = this.#sources
    const { candidates, unprepared, settings } = registry
    // Another one has replaced it meanwhile.
    if (!candidates.includes(failed)) return
    const ended = failed.extension.stop(error, 0)
    // An extension of a layer below is still registered.
    const isBelow = from.descriptor.layer !== failed.descriptor.layer
    const back = isBelow ? [] : [registry.prepareAgain(from.descriptor, settings)].filter(isCandidate)
    for (const restored of back) restored.extension.startAfter(Promise.all([ended, retirement.left(from)]))
    const others = candidates.filter((other) => other !== failed)
    retirement.retire(registry.commit(registry.propose([...others, ...back], unprepared, settings)), error)
  }

  #conclude({ attempt, changes }: Round): readonly ReloadChange[] {
    const { registry, events } = this.#sources
    return Array.from(changes, ([key, change]) => {
      const error = attempt.failed.get(key) ?? change.error
      const result = attempt.failed.has(key) ? 'failed' : change.result
      const extension = registry.extension(change.extension)
      const generation = extension?.generation
      const extensionId = change.extension
      if (result === 'reloaded' && generation !== undefined) {
        events.emit({ type: 'ExtensionReloaded', extensionId, generation })
      }
      if (result === 'refused') events.emit({ type: 'ExtensionReloadRefused', extensionId, reason: error!.message })
      if (result === 'failed') {
        events.emit({ type: 'ExtensionReloadFailed', extensionId, errorCode: error!.code, message: error!.message })
      }
      // The report has the diagnostics of the loader.
      this.#faults.delete(key)
      const isReported = result === 'refused' || attempt.failed.has(key)
      if (isReported && extension) this.#faults.set(key, registrationDiagnostic(extension.descriptor, error!))
      return { ...change, result, generation, ...(error ? { error } : {}) }
    })
  }
}

const replaced = () => new BulkheadError('ToolCancelled', 'The extension was replaced or unloaded.')
