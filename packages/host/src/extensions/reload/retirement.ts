import type { BulkheadError } from '@bulkhead/contract'
import type { Leases } from '../../model/waiting.ts'
import type { EventBus } from '../../records/events.ts'
import type { Extension } from '../lifecycle/extension.ts'

export interface RetirementSources {
  readonly turns: Leases
  readonly events: EventBus
  readonly drainMs: number
}

/** Stops extensions that are no longer offered, after the last turn that offers them and the last call have ended. */
export class Retirement {
  readonly #sources: RetirementSources
  readonly #offeredSince = new WeakMap<Extension, number>()
  readonly #leaving = new Map<Extension, Promise<void>>()

  constructor(sources: RetirementSources) {
    this.#sources = sources
  }

  /** It is offered from now on. Earlier turns do not offer it. */
  welcome(extension: Extension): void {
    this.#offeredSince.set(extension, this.#sources.turns.now)
  }

  /** `extensions`: dependents before what they depend on. */
  retire(extensions: readonly Extension[], reason: BulkheadError): void {
    const { turns } = this.#sources
    for (const extension of extensions) {
      const { id } = extension.descriptor
      const dependents = extensions.filter(({ descriptor }) => descriptor.manifest.dependsOn.includes(id))
      const before = dependents.map((other) => this.#leaving.get(other))
      const left = Promise.all([
        ...before, knownToTurns(extension) ? turns.whenReleased(this.#offeredSince.get(extension)) : undefined,
      ])
        .then(() => this.#letGo(extension, reason))
        .finally(() => this.#leaving.delete(extension))
      this.#leaving.set(extension, left)
    }
  }

  /** Retired extensions that have not ended, in the order of their retirement. */
  get leaving(): readonly Extension[] {
    return [...this.#leaving.keys()]
  }

  generations(id: string): readonly Extension[] {
    return this.leaving.filter(({ descriptor }) => descriptor.id === id)
  }

  /** Resolves when one of the generations of this id has ended, at once if there is none. */
  async oneLeft(id: string): Promise<void> {
    const waits = [...this.#leaving].filter(([{ descriptor }]) => descriptor.id === id).map(([, left]) => left)
    if (waits.length > 0) await Promise.race(waits)
  }

  /** Resolves when this one has ended. */
  async left(extension: Extension): Promise<void> {
    await this.#leaving.get(extension)
  }

  async #letGo(extension: Extension, reason: BulkheadError): Promise<void> {
    const { events, drainMs } = this.#sources
    await extension.leases.whenNone()
    const fault = await extension.stop(reason, drainMs)
    if (fault) events.suppressed(`the end of ${extension.descriptor.id}, generation ${extension.generation}`, fault)
  }
}

/** A turn looks up an `in-turn` extension for every call. */
const knownToTurns = ({ descriptor }: Extension): boolean => descriptor.manifest.reloadBehavior !== 'in-turn'

export interface StopReport {
  /** Ids of extensions that were running and stopped cleanly. */
  readonly stopped: readonly string[]
  /** Extensions that did not end in time, or failed while they stopped. */
  readonly faults: readonly { readonly extension: string; readonly error: BulkheadError }[]
}

/** Stops each extension after its dependents. `extensions`: dependents before their dependencies. */
export async function stopAll(
  extensions: readonly Extension[], reason: BulkheadError, drainMs: number,
): Promise<StopReport> {
  const stops = new Map<Extension, Promise<BulkheadError | undefined>>()
  // Also one that accepts no call for now, because a cancelled one still runs in it.
  const running = new Set(extensions.filter(({ state }) => state === 'active' || state === 'draining'))
  /** Stops of those that depend on an id. */
  const dependents = new Map<string, Promise<unknown>[]>()
  for (const extension of extensions) {
    const { id, manifest: { dependsOn } } = extension.descriptor
    const stop = Promise.all(dependents.get(id) ?? []).then(() => extension.stop(reason, drainMs))
    stops.set(extension, stop)
    for (const dependency of dependsOn) dependents.getOrInsertComputed(dependency, () => []).push(stop)
  }
  const stopped: string[] = []
  const faults: { extension: string; error: BulkheadError }[] = []
  for (const [extension, stop] of stops) {
    const error = await stop
    if (error) faults.push({ extension: extension.descriptor.id, error })
    else if (running.has(extension)) stopped.push(extension.descriptor.id)
  }
  return { stopped, faults }
}
