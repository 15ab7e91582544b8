import { BulkheadError, type CompartmentSession, type LifecyclePhase } from '@bulkhead/contract'
import type { ExtensionParts } from './extension.ts'

/** Runs one phase, and tells of its beginning and its end. Rejects with LifecycleFailure, or as the compartment says. */
export async function runPhase(
  phase: LifecyclePhase, compartment: CompartmentSession, { descriptor, events, clock }: ExtensionParts,
): Promise<void> {
  const { id: extensionId } = descriptor
  const began = clock.monotonic()
  const end = (error: BulkheadError | undefined) => events.emit({
    type: 'LifecyclePhaseEnd', extensionId, phase, durationMs: clock.monotonic() - began,
    ok: error === undefined, errorCode: error?.code ?? null, message: error?.message ?? '',
  })
  events.emit({ type: 'LifecyclePhaseStart', extensionId, phase })
  try {
    await compartment.lifecycle(phase)
    end(undefined)
  } catch (thrown) {
    const error = BulkheadError.from(thrown, 'LifecycleFailure')
    end(error)
    throw error
  }
}
