import {
  BulkheadError, type Clock, type CompartmentRequest, type CompartmentServices, type CompartmentSession,
  type CompartmentTool, type ExtensionDescriptor, type InteractionRequest, type InteractionResponse,
  type LifecyclePhase, type Sandbox,
} from '@bulkhead/contract'
import { settlesWithin } from '@bulkhead/kit/deadlines'
import type { Arrangement } from '../../model/settings.ts'
import type { EventBus } from '../../records/events.ts'
import type { RunningCalls } from '../running-calls.ts'

/** The parts of an extension. */
export interface ExtensionParts {
  readonly descriptor: ExtensionDescriptor
  readonly generation: number
  readonly arrangement: Arrangement
  readonly tools: readonly CompartmentTool[]
  /** Created for each start, so that variables have their present values. */
  readonly services: () => CompartmentServices
  readonly running: RunningCalls
  /** Looked up when it starts: they may have been replaced since. */
  readonly dependencies: () => readonly { start(starter?: Starter): Promise<unknown> }[]
  readonly sandbox: Sandbox
  readonly events: EventBus
  readonly clock: Clock
}

/** Answers questions of the phase `init`: the interactor of the caller that starts the extension. */
export interface Starter {
  raise(request: InteractionRequest, source: string, signal: AbortSignal): Promise<InteractionResponse>
}

/** The request to the sandbox for an extension. `files`: its verified bytes, unless it is a bundled module. */
export function compartmentRequest(
  { descriptor, arrangement, tools, services }: ExtensionParts, files: ReadonlyMap<string, Uint8Array> | undefined, signal: AbortSignal,
): CompartmentRequest {
  const { code, id, version, layer, manifest } = descriptor
  return {
    extension: { id, version, layer },
    placement: arrangement.placement,
    code: code.kind === 'files' ? { kind: 'files', main: manifest.main.slice('./'.length), files: files! } : code,
    tools,
    config: arrangement.config,
    concurrency: arrangement.compartments,
    limits: arrangement.limits,
    services: services(),
    signal,
  }
}

/** Runs one phase, and emits its start and end. Rejects with LifecycleFailure, or with the error of the compartment. */
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
    // The compartment has its own deadline. This one is for a compartment that misses it. `init` may ask a person.
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

/** Adds extension and phase, which the thrown error does not name. */
function attributed(error: BulkheadError, extension: string, phase: LifecyclePhase): BulkheadError {
  if (error.code !== 'LifecycleFailure') return error
  const message = `The phase ${phase} of "${extension}" failed: ${error.message}`
  return new BulkheadError('LifecycleFailure', message, { cause: error, data: { extension } })
}

function overdue(extension: string, phase: LifecyclePhase, ms: number): BulkheadError {
  const message = `The phase ${phase} of "${extension}" did not end within ${ms} ms.`
  return new BulkheadError('LifecycleTimeout', message, { data: { extension } })
}
