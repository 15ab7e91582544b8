import type { BulkheadError } from '@bulkhead/contract'
import type { Extension } from './extension.ts'

export interface StopReport {
  /** Ids of extensions that were running and stopped as they should. */
  readonly stopped: readonly string[]
  /** What did not end by itself in time, or failed while it did. */
  readonly faults: readonly { readonly extension: string; readonly error: BulkheadError }[]
}

/** Stops each after all that depend on it, and otherwise at once. `extensions`: dependents before what they depend on. */
export async function stopAll(extensions: readonly Extension[], reason: BulkheadError, drainMs: number): Promise<StopReport> {
  const stops = new Map<Extension, Promise<BulkheadError | undefined>>()
  // Also one that takes no call for now, because one that was cancelled goes on in it.
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
