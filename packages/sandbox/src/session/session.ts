import type {
  CompartmentEnd, CompartmentMethods, CompartmentRequest, CompartmentSession, CompartmentTool, LifecyclePhase, Placement, StoredState, ToolInvocation,
} from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import type { Broker } from '@bulkhead/broker'
import type { Question } from '../wire/remote.ts'
import { AwakeDeadline } from './awake-deadline.ts'
import { CallPlaces, WAITING_PER_PLACE } from './call-queue.ts'
import type { Asking, CallerOwner, Judgement, Telling } from './caller.ts'
import { Caller } from './caller.ts'
import { closedEarly } from './closed-early.ts'
import { compartmentGone } from './compartment-gone.ts'
import { InvokedCall } from './invoked-call.ts'
import { CALL_CODES, judgeError, NO_CODES } from './compartment-error.ts'
import type { Peer } from './peer.ts'
import type { RestingSession } from './resting-session.ts'

export interface SessionParts {
  readonly request: CompartmentRequest
  readonly peer: Peer
  readonly broker: Broker
  readonly offers: CompartmentSession['offers']
}

let opened = 0

/** One extension's code, running. Whatever is asked of it settles once: by its answer, an abort, or its end. */
export class Session implements RestingSession {
  readonly id: string
  readonly placement: Placement
  readonly offers: CompartmentSession['offers']
  readonly ended: Promise<CompartmentEnd>
  readonly #request: CompartmentRequest
  readonly #peer: Peer
  readonly #broker: Broker
  readonly #tools: ReadonlyMap<string, CompartmentTool>
  readonly #places: CallPlaces<Caller>
  /** For how many callers the compartment still works, or will. */
  #inFlight = 0
  #quietSince = performance.now()
  /** Ids of calls that go on although their callers have given up. */
  readonly #abandoned = new Set<string>()
  readonly #owner: CallerOwner = { gaveUp: (caller, reason) => this.#gaveUp(caller, reason), left: (caller) => this.#left(caller) }
  /** Why it is being ended, once it is; what comes of it later is a consequence. */
  #reason: BulkheadError | undefined
  #closing = false
  #attempts = 0
  /** Cancelled calls that go on. */
  #lingering = 0
  #quiet: PromiseWithResolvers<void> | undefined

  constructor({ request, peer, broker, offers }: SessionParts) {
    this.id = `${request.extension.id}#${++opened}`
    this.placement = request.placement
    this.offers = offers
    this.#request = request
    this.#peer = peer
    this.#broker = broker
    this.#tools = new Map(request.tools.map((tool) => [tool.name, tool]))
    this.#places = new CallPlaces(request.limits.concurrentCalls, (caller) => this.#send(caller))
    this.ended = peer.ended.then((error) => this.#end(error))
    // Later: whoever holds it, and whoever holds that, has heard of its end by then.
    void this.ended.then(() => void setImmediate(() => this.#quiet?.resolve()))
  }

  get quiet(): Promise<void> | undefined {
    return this.#quiet?.promise
  }

  get inFlight(): number {
    return this.#inFlight
  }

  get quietSince(): number {
    return this.#quietSince
  }

  async lifecycle(phase: LifecyclePhase): Promise<void> {
    if (!this.offers.phases.has(phase)) return
    const { phaseMs } = this.#request.limits
    const deadline = new AwakeDeadline(phaseMs, () => {
      const why = `The phase ${phase} of ${this.#request.extension.id} took longer than ${phaseMs} ms, and its compartment was ended. Do less in the phase, or raise phaseMs.`
      this.#kill(new BulkheadError('LifecycleTimeout', why, { data: { limit: 'phaseMs' } }))
    })
    const over = new AbortController()
    const close = phase === 'init' ? this.#broker.openInit({ signal: over.signal, pause: () => deadline.pause() }) : undefined
    try {
      await this.#ask('lifecycle', [phase], LIFECYCLE)
    } finally {
      deadline.stop()
      close?.()
      over.abort(new BulkheadError('ToolCancelled', `The phase ${phase} of ${this.#request.extension.id} is over.`))
    }
  }

  call(invocation: ToolInvocation): Promise<Json> {
    const { callId, tool: name } = invocation
    const tool = this.#tools.get(name)
    if (tool === undefined) return Promise.reject(this.#notRegistered(name))
    // An earlier attempt of the same call may still be on its way out.
    const isTaken = this.#abandoned.size > 0 && this.#abandoned.has(callId)
    const id = isTaken ? `${callId}~${++this.#attempts}` : callId
    const call = new InvokedCall(id, tool, invocation)
    return new Promise((resolve, reject) => {
      const caller = this.#listeningCaller(CALL, { cancellation: invocation, call }, { resolve, reject })
      if (caller === undefined) return
      const standing = this.#places.enter(caller)
      if (standing === 'placed') this.#send(caller)
      else if (standing === 'full') caller.failed(this.#tooManyCalls())
    })
  }

  async deriveApprovalKey(name: string, args: JsonObject, signal: AbortSignal): Promise<string> {
    if (!this.#tools.has(name)) throw this.#notRegistered(name)
    const key = await this.#ask('deriveApprovalKey', [name, args], APPROVAL_KEY, signal)
    if (typeof key !== 'string') {
      throw new BulkheadError('ApprovalKeyDerivationFailed', `deriveApprovalKey of ${name} did not return a text.`)
    }
    return key
  }

  async migrateState({ slotVersion, data }: StoredState, signal: AbortSignal): Promise<Json> {
    return this.#ask('migrateState', [slotVersion, data], MIGRATION, signal)
  }

  close(reason?: BulkheadError): Promise<void> {
    this.#closing = true
    this.#kill(reason ?? closedEarly())
    return Promise.all([this.#peer.gone, this.#broker.close()]).then(() => undefined)
  }

  /** Settles once: by the answer, by the caller, or by the end of all. A phase has no signal: its deadline ends all. */
  #ask<Method extends keyof CompartmentMethods>(
    method: Method, args: Parameters<CompartmentMethods[Method]>, judgement: Judgement, signal?: AbortSignal,
  ): Promise<Json> {
    return new Promise((resolve, reject) => {
      if (signal === undefined) {
        const failed = (error: unknown): void => reject(judgeError(error, judgement.fallback, judgement.own))
        return this.#peer.ask(method, args, { answered: resolve, failed })
      }
      const caller = this.#listeningCaller(judgement, { cancellation: { signal } }, { resolve, reject })
      if (caller !== undefined) this.#peer.ask(method, args, caller)
    })
  }

  /** None where nothing can be asked any more, or the caller has given up already; it has been told then. */
  #listeningCaller(judgement: Judgement, asking: Asking, telling: Telling): Caller | undefined {
    const refusal = this.#refusal
    if (refusal !== undefined) {
      telling.reject(refusal)
      return undefined
    }
    const caller = new Caller(this.#owner, judgement, asking, telling)
    if (!caller.listen()) return undefined
    this.#inFlight++
    return caller
  }

  /** Why nothing can be asked any more. The end itself may be announced later. */
  get #refusal(): BulkheadError | undefined {
    if (this.#reason === undefined && this.#peer.isReachable) return undefined
    return this.#closing ? this.#reason : compartmentGone(this.#request.extension.id, this.#reason)
  }

  #send(caller: Caller): void {
    const { callId, invocation: { tool, args } } = caller.call!
    this.#broker.open(caller.call!)
    this.#peer.ask('execute', [callId, tool, args], caller)
  }

  /** Its caller is answered; the code gets a little time to notice, and is ended when it does not. */
  #gaveUp(caller: Caller, reason: BulkheadError): void {
    const { call } = caller
    if (call !== undefined) {
      // It was waiting for a place: the code has never heard of it.
      if (caller.at < 0) return this.#left(caller)
      this.#broker.end(call)
      this.#abandoned.add(call.callId)
      this.#peer.ask('abort', [call.callId, reason.message], NOBODY)
    }
    if (!this.#peer.killable) return
    this.#lingering++
    this.#quiet ??= Promise.withResolvers()
    const { extension: { id }, limits: { graceMs } } = this.#request
    caller.overdue = setTimeout(() => this.#kill(overdueError(id, call ? undefined : reason)), graceMs)
  }

  #left(caller: Caller): void {
    if (--this.#inFlight === 0) this.#quietSince = performance.now()
    const { call } = caller
    if (call !== undefined) {
      this.#broker.end(call)
      if (caller.reason !== undefined) this.#abandoned.delete(call.callId)
      this.#places.leave(caller)
    }
    if (caller.overdue === undefined) return
    clearTimeout(caller.overdue)
    // One that is being ended becomes quiet when it is gone.
    if (--this.#lingering > 0 || this.#reason !== undefined) return
    this.#quiet?.resolve()
    this.#quiet = undefined
  }

  #kill(reason: BulkheadError): void {
    this.#reason ??= reason
    this.#endAll(this.#reason)
    this.#peer.kill()
  }

  #end(error: BulkheadError | undefined): CompartmentEnd {
    this.#reason ??= error ?? new BulkheadError('CompartmentCrashed', 'The compartment ended.')
    const reason = this.#reason
    this.#endAll(reason)
    void this.#broker.close()
    return this.#closing ? { kind: 'closed' } : { kind: 'failed', error: reason }
  }

  /** Those that wait first: the end of a call would let the next one in. */
  #endAll(reason: BulkheadError): void {
    for (const caller of this.#places.takeWaiting()) caller.failed(this.#refusal)
    this.#peer.endAll(reason)
  }

  #notRegistered(name: string): BulkheadError {
    return new BulkheadError('ToolNotRegistered', `The extension ${this.#request.extension.id} has no tool ${name}.`)
  }

  #tooManyCalls(): BulkheadError {
    const { extension, limits } = this.#request
    return new BulkheadError(
      'TooManyCalls',
      `The compartment of ${extension.id} runs ${limits.concurrentCalls} calls, and ${limits.concurrentCalls * WAITING_PER_PLACE} more of the session wait for it. Wait for some of them.`,
      { data: { limit: 'concurrentCalls' } },
    )
  }
}

const CALL: Judgement = { fallback: 'ToolExecutionFailed', own: CALL_CODES }
const APPROVAL_KEY: Judgement = { fallback: 'ApprovalKeyDerivationFailed', own: NO_CODES }
const MIGRATION: Judgement = { fallback: 'SlotMigrationFailed', own: NO_CODES }
const LIFECYCLE: Judgement = { fallback: 'LifecycleFailure', own: NO_CODES }
const NOBODY: Question = { answered: () => undefined, failed: () => undefined }

/** `reason`: why something other than a call had to end. */
const overdueError = (id: string, reason: BulkheadError | undefined): BulkheadError => new BulkheadError(
  'CompartmentKilled',
  `The compartment of ${id} was ended because ${reason ? `it did not stop. ${reason.message}` : 'a cancelled call in it went on.'}`,
  { data: { limit: 'graceMs' } },
)
