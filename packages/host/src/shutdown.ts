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
  const running = extensions.filter(({ compartment }) => compartment !== undefined)
  for (const extension of extensions) {
    const dependents = [...stops].filter(([other]) => other.descriptor.manifest.dependsOn.includes(extension.descriptor.id)).map(([, stop]) => stop)
    stops.set(extension, Promise.all(dependents).then(() => extension.stop(reason, drainMs)))
  }
  const faults = await Promise.all([...stops].map(async ([extension, stop]) => ({ extension, error: await stop })))
  return {
    stopped: running.filter((extension) => faults.some((fault) => fault.extension === extension && !fault.error)).map(({ descriptor }) => descriptor.id),
    faults: faults.flatMap(({ extension, error }) => error ? [{ extension: extension.descriptor.id, error }] : []),
  }
}
