import {
  BulkheadError, type Clock, type CompartmentRequest, type CompartmentServices, type CompartmentSession,
  type CompartmentTool, type ExtensionDescriptor, type InteractionRequest, type InteractionResponse, type RemoteCode,
  type RunsOn, type Sandbox,
} from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import type { Attempts } from '../../model/call-run.ts'
import { Deadline, type JointPause } from '../../model/deadline.ts'
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
  { descriptor, arrangement, tools, services }: ExtensionParts, files: ReadonlyMap<string, Uint8Array> | undefined,
  signal: AbortSignal,
): CompartmentRequest {
  const { code, id, version, layer, manifest } = descriptor
  return {
    extension: { id, version, layer },
    placement: arrangement.placement,
    code: code.kind === 'module' ? code
      : { kind: 'files', main: manifest.main.slice('./'.length), files: files!, origins: code.origins },
    tools,
    config: arrangement.config,
    concurrency: arrangement.compartments,
    limits: arrangement.limits,
    services: services(),
    remote: arrangement.isRemote ? remoteCode(descriptor, arrangement.runsOn) : undefined,
    signal,
  }
}

/** Throws CapabilityUnavailable. */
function remoteCode({ id, code, digests }: ExtensionDescriptor, runsOn: RunsOn | undefined): RemoteCode {
  if (code.kind === 'files') return { runsOn, digests, readPackage: () => (code.readPackage ?? code.readFiles)() }
  const message = `"${id}" has no package that a worker could run. Remove extensions.${id}.runsOn.`
  throw new BulkheadError('CapabilityUnavailable', message)
}

/** A call that needs the compartment of its tool. */
export interface StartingCall extends TimedCall {
  readonly tool: { readonly name: string; readonly timeoutMs: number; readonly extension: StartableExtension }
  readonly session: { readonly interactions: Starter }
  readonly waiting: { pause(): () => void } | undefined
  readonly signal: AbortSignal
}

interface StartableExtension {
  readonly startPause: JointPause
  start(starter?: Starter): Promise<CompartmentSession>
  startAfterEnd(gone: CompartmentSession, starter: Starter): Promise<CompartmentSession>
}

interface TimedCall {
  readonly tool: { readonly name: string; readonly timeoutMs: number }
  readonly timeoutMs: number | undefined
}

/**
 * Waits for the compartment of a call within the time of the call, and subtracts the wait. Rejects with
 * ExecutionTimeout, or when the call is cancelled. The start continues either way: other calls may wait for it. `gone`:
 * a compartment that ended, for a call that needs the next one.
 */
export async function untilStarted(
  call: StartingCall, attempts: Attempts, clock: Clock, gone?: CompartmentSession,
): Promise<CompartmentSession> {
  const { tool: { extension }, session: { interactions } } = call
  const late = Promise.withResolvers<never>()
  const deadline = attempts.run(clock, () => late.reject(overdue(call)))
  const leavePause = extension.startPause.join(() => {
    const resumes = [deadline.pause(), call.waiting?.pause()]
    return () => { for (const resume of resumes) resume?.() }
  })
  try {
    const starting = gone ? extension.startAfterEnd(gone, interactions) : extension.start(interactions)
    return await untilAborted(Promise.race([starting, late.promise]), call.signal)
  } finally {
    // In this order: the remaining time can be read only before the deadline stops.
    leavePause()
    attempts.stop(deadline)
  }
}

/** The time of a call is over, whether it waited or ran. */
export function overdue({ tool, timeoutMs = tool.timeoutMs }: TimedCall): BulkheadError {
  return new BulkheadError(
    'ExecutionTimeout', `The tool "${tool.name}" did not answer within ${timeoutMs} ms.`, { data: { timeoutMs } },
  )
}

/** Whether a request never reached its compartment, and can be sent to the next one. */
export const isCompartmentGone = (thrown: unknown): boolean =>
  BulkheadError.is(thrown) && thrown.code === 'CompartmentGone'

/** One attempt to start an extension. All callers that need the extension share it. */
export class StartAttempt {
  readonly #late = Promise.withResolvers<never>()
  readonly #cancelled = Promise.withResolvers<void>()
  #deadline: Deadline | undefined
  #opening: AbortController | undefined
  /** Settles with the attempt. */
  result: Promise<CompartmentSession> | undefined
  /** Answers the questions of `init`: the first caller that can. */
  starter: Starter | undefined
  /** Set when its time is over. */
  over: BulkheadError | undefined
  /** Set when the compartment is open. */
  compartment: CompartmentSession | undefined
  /** Whether the compartment ended before it was active. */
  hasEnded = false

  /**
   * Starts its deadline. The sandbox has shorter ones of its own; this one makes sure that no call waits for ever.
   * Paused while a person is asked.
   */
  begin(clock: Clock, ms: number, extension: string): void {
    this.#deadline = new Deadline(clock, ms, () => {
      const message = `The extension "${extension}" was not ready within ${ms} ms. `
        + 'Check what keeps this machine busy, or raise startMs and phaseMs.'
      this.over = new BulkheadError('CompartmentStartFailed', message, { data: { extension } })
      this.#late.reject(this.over)
    })
  }

  /** Settles as the work does, or at the deadline. A later result is ignored. */
  within<Value>(work: Promise<Value>): Promise<Value> {
    return Promise.race([work, this.#late.promise])
  }

  /** Also resolves when the attempt is cancelled. */
  async waitFor(predecessor: Promise<unknown>): Promise<void> {
    await Promise.race([predecessor, this.#cancelled.promise])
  }

  /** The compartment is being opened. Returns the signal that ends that. */
  opening(): AbortSignal {
    this.#opening = new AbortController()
    return this.#opening.signal
  }

  opened(compartment: CompartmentSession): void {
    this.#opening = undefined
    this.compartment = compartment
  }

  /** Ends a wait and an opening. A phase that has begun is not interrupted. */
  cancel(reason: BulkheadError): void {
    this.#cancelled.resolve()
    this.#opening?.abort(reason)
  }

  pause(): () => void {
    return this.#deadline!.pause()
  }

  end(): void {
    this.#deadline?.stop()
  }
}

/** The pause after this many crashes within the window. The last entry holds for all beyond it. */
const REST_MS = [0, 0, 0, 0, 1_000, 5_000, 15_000, 60_000] as const
const WINDOW_MS = 120_000

/**
 * The pause before an extension that keeps crashing is started again. The first three crashes cause none: one call may
 * make three attempts.
 */
export class Restarts {
  #deaths: number[] = []
  #isDown = false
  /** Starts after a death, in all. */
  count = 0

  /** `now` in monotonic milliseconds. */
  died(now: number): void {
    this.#deaths = [...this.#recent(now), now]
    this.#isDown = true
  }

  started(): void {
    if (this.#isDown) this.count++
    this.#isDown = false
  }

  restMs(now: number): number {
    const deaths = this.#recent(now)
    const last = deaths.at(-1)
    if (last === undefined) return 0
    const rest = REST_MS[Math.min(deaths.length, REST_MS.length - 1)]!
    return Math.max(0, last + rest - now)
  }

  deaths(now: number): number {
    return this.#recent(now).length
  }

  /** Throws CompartmentQuarantined, which has the remaining time. */
  refuseWhileResting(extension: string, clock: Clock): void {
    const now = clock.monotonic()
    const retryAfterMs = Math.ceil(this.restMs(now))
    if (retryAfterMs === 0) return
    const until = new Date(clock.now() + retryAfterMs).toISOString()
    throw new BulkheadError(
      'CompartmentQuarantined', `The extension "${extension}" died ${this.deaths(now)} times and rests until ${until}.`,
      { data: { extension, retryAfterMs, until } },
    )
  }

  #recent(now: number): number[] {
    return this.#deaths.filter((at) => now - at < WINDOW_MS)
  }
}
