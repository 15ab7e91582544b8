import { BulkheadError, type CompartmentSession, type LifecyclePhase } from '@bulkhead/contract'
import { settlesWithin } from '@bulkhead/kit/deadlines'
import type { ExtensionParts } from './extension-parts.ts'

/** Runs one phase, and tells of its beginning and its end. Rejects with LifecycleFailure, or as the compartment says. */
export async function runPhase(
  phase: LifecyclePhase, compartment: CompartmentSession, { descriptor, events, clock, arrangement }: ExtensionParts,
): Promise<void> {
  const { id: extensionId } = descriptor
  const began = clock.monotonic()
  const end = (error: BulkheadError | undefined) => events.emit({
    type: 'LifecyclePhaseEnd', extensionId, phase, durationMs: clock.monotonic() - began,
    ok: error === undefined, errorCode: error?.code ?? null, message: error?.message ?? '',
  })
  events.emit({ type: 'LifecyclePhaseStart', extensionId, phase })
  try {
    const work = compartment.lifecycle(phase)
    // Its deadline is the compartment's affair; this is for one that does not keep it. In init a person may be asked.
    const mostMs = phase === 'init' ? Infinity : 2 * arrangement.limits.phaseMs
    if (mostMs < Infinity && !await settlesWithin(clock, mostMs, work)) throw overdue(extensionId, phase, mostMs)
    await work
    end(undefined)
  } catch (thrown) {
    const error = BulkheadError.from(thrown, 'LifecycleFailure')
    end(error)
    throw attributed(error, extensionId, phase)
  }
}

/** What it threw says neither whose it is nor when. */
function attributed(error: BulkheadError, extension: string, phase: LifecyclePhase): BulkheadError {
  if (error.code !== 'LifecycleFailure') return error
  const message = `The phase ${phase} of "${extension}" failed: ${error.message}`
  return new BulkheadError('LifecycleFailure', message, { cause: error, data: { extension } })
}

function overdue(extension: string, phase: LifecyclePhase, ms: number): BulkheadError {
  const message = `The phase ${phase} of "${extension}" did not end within ${ms} ms.`
  return new BulkheadError('LifecycleTimeout', message, { data: { extension } })
}
