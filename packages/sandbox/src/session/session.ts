import type {
  CompartmentEnd, CompartmentRequest, CompartmentSession, CompartmentTool, CompartmentUse, LifecyclePhase, Placement,
  StoredState, ToolInvocation,
} from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { BulkheadError, CALL_LIMITS } from '@bulkhead/contract'
import type { Broker } from '@bulkhead/broker'
import type { CallKey, CompartmentMethods } from '../wire/protocol.ts'
import { AwakeDeadline } from './awake-deadline.ts'
import { CallQueue } from './call-queue.ts'
import {
  closedEarly, compartmentError, compartmentGone, ON_APPROVAL_KEY, ON_CALL, ON_LIFECYCLE, ON_MIGRATION,
  type ErrorPolicy,
} from './errors.ts'
import { callFailure, reportFailure, type FailureListener } from './failures.ts'
import type { CalledMethod, Peer } from './peer.ts'
import { InvokedCall, PendingRequest, type RequestOwner, type RequestSource, type Settle } from './pending-request.ts'
import type { Residency } from './residency.ts'

export interface SessionParts {
  readonly request: CompartmentRequest
  readonly peer: Peer
  readonly broker: Broker
  readonly offers: CompartmentSession['offers']
  readonly residency: Residency
  readonly onFailure?: FailureListener | undefined
}

let opened = 0

/**
 * One compartment with the code of one extension. Each request settles once: by its reply, by cancelling, or by the end
 * of the compartment.
 */
export class Session implements CompartmentSession {
  readonly id: string
  readonly placement: Placement
  readonly offers: CompartmentSession['offers']
  readonly ended: Promise<CompartmentEnd>
  readonly #request: CompartmentRequest
  readonly #peer: Peer
  readonly #broker: Broker
  readonly #tools: ReadonlyMap<string, CompartmentTool>
  /** Its code may read `process.env`, which cannot wait for the broker: each call gets its variables at once. */
  readonly #readsEnv: boolean
  /** The idempotency key, if its code may read it. Others do not pay for it. */
  readonly #keyOf: (call: InvokedCall) => CallKey | undefined
  readonly #residency: Residency
  readonly #onFailure: FailureListener | undefined
  /** Whether an error is located: for a listener, or in code that this process built. */
  readonly #reports: boolean
  readonly #queue: CallQueue<PendingRequest>
  /** Requests that run in the compartment, or wait for a slot. */
  #inFlight = 0
  /** Ids of cancelled calls that go on. */
  readonly #abandoned = new Set<string>()
  readonly #owner: RequestOwner = {
    cancelled: (request, reason) => this.#cancelled(request, reason), finished: (request) => this.#finished(request),
  }
  /** Why it ends. The first reason counts. */
  #reason: BulkheadError | undefined
  #closing = false
  #attempts = 0
  /** Number of cancelled requests that go on. */
  #lingering = 0
  #quiet: PromiseWithResolvers<void> | undefined

  constructor({ request, peer, broker, offers, residency, onFailure }: SessionParts) {
    this.id = `${request.extension.id}#${++opened}`
    this.placement = request.placement
    this.offers = offers
    this.#request = request
    this.#peer = peer
    this.#broker = broker
    this.#residency = residency
    this.#onFailure = onFailure
    this.#reports = onFailure !== undefined || (request.code.kind === 'files' && request.code.origins !== undefined)
    this.#tools = new Map(request.tools.map((tool) => [tool.name, tool]))
    this.#readsEnv = request.services.envDeclared.size > 0 && names(request.code, 'process')
    this.#keyOf = request.code.kind === 'module' ? (call) => () => call.idempotencyKey
      : names(request.code, 'idempotencyKey') ? (call) => call.idempotencyKey : () => undefined
    this.#queue = new CallQueue(
      request.limits.concurrentCalls, (pending) => this.#send(pending), request.placement === 'inline',
    )
    this.ended = peer.ended.then((error) => this.#end(error))
    // Later: the wrappers of this session have handled its end by then.
    void this.ended.then(() => void setImmediate(() => this.#quiet?.resolve()))
  }

  get quiet(): Promise<void> | undefined {
    return this.#quiet?.promise
  }

  get inFlight(): number {
    return this.#inFlight
  }

  async use(): Promise<readonly CompartmentUse[]> {
    return [await this.#peer.use?.()].filter((one) => one !== undefined)
  }

  async lifecycle(phase: LifecyclePhase): Promise<void> {
    if (!this.offers.phases.has(phase)) return
    const { phaseMs } = this.#request.limits
    const deadline = new AwakeDeadline(phaseMs, () => {
      const why = `The phase ${phase} of ${this.#request.extension.id} took longer than ${phaseMs} ms, `
        + 'and its compartment was ended. Do less in the phase, or raise phaseMs.'
      this.#kill(new BulkheadError('LifecycleTimeout', why, { data: { limit: 'phaseMs' } }))
    })
    const over = new AbortController()
    const init = { signal: over.signal, pause: () => deadline.pause() }
    const close = phase === 'init' ? this.#broker.openInit(init) : undefined
    try {
      await this.#ask('lifecycle', [phase], ON_LIFECYCLE)
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
    // A cancelled attempt of the same call may still run.
    const isTaken = this.#abandoned.size > 0 && this.#abandoned.has(callId)
    const id = isTaken ? `${callId}~${++this.#attempts}` : callId
    const call = new InvokedCall(id, tool, invocation)
    return new Promise((resolve, rejected) => {
      const reject = this.#reports ? this.#reporting(rejected, callId) : rejected
      const pending = this.#pending(ON_CALL, { cancellation: invocation, call }, { resolve, reject })
      if (pending === undefined) return
      const entered = this.#queue.enter(pending)
      if (entered === 'running') this.#send(pending)
      else if (entered === 'full') pending.failed(this.#tooManyCalls())
    })
  }

  async deriveApprovalKey(name: string, args: JsonObject, signal: AbortSignal): Promise<string> {
    if (!this.#tools.has(name)) throw this.#notRegistered(name)
    const key = await this.#ask('deriveApprovalKey', [name, args], ON_APPROVAL_KEY, signal)
    if (typeof key !== 'string') {
      throw new BulkheadError('ApprovalKeyDerivationFailed', `deriveApprovalKey of ${name} did not return a string.`)
    }
    return key
  }

  async migrateState({ slotVersion, data }: StoredState, signal: AbortSignal): Promise<Json> {
    return this.#ask('migrateState', [slotVersion, data], ON_MIGRATION, signal)
  }

  close(reason?: BulkheadError): Promise<void> {
    this.#closing = true
    this.#kill(reason ?? closedEarly())
    return Promise.all([this.#peer.gone, this.#broker.close()]).then(() => undefined)
  }

  /** A lifecycle phase has no signal: its deadline ends the compartment. */
  #ask<Method extends CalledMethod>(
    method: Method, args: Parameters<CompartmentMethods[Method]>, policy: ErrorPolicy, signal?: AbortSignal,
  ): Promise<Json> {
    return new Promise((resolve, rejected) => {
      const reject = this.#reporting(rejected)
      if (signal === undefined) {
        return void this.#peer.call(method, ...args)
          .then(resolve, (error: unknown) => reject(compartmentError(error, policy)))
      }
      const pending = this.#pending(policy, { cancellation: { signal } }, { resolve, reject })
      if (pending === undefined) return
      this.#peer.call(method, ...args).then((value) => pending.answered(value), (error: unknown) => pending.failed(error))
    })
  }

  #reporting(reject: Settle['reject'], callId?: string): Settle['reject'] {
    return (error) => {
      const failure = callFailure(error, this.#request)
      reportFailure(failure, this.#request, callId, this.#onFailure)
      reject(failure)
    }
  }

  /** Undefined when the session has ended or the caller has cancelled already; the caller is rejected then. */
  #pending(policy: ErrorPolicy, source: RequestSource, settle: Settle): PendingRequest | undefined {
    const refusal = this.#refusal
    if (refusal !== undefined) {
      settle.reject(refusal)
      return undefined
    }
    const pending = new PendingRequest(this.#owner, policy, source, settle)
    if (!pending.listen()) return undefined
    this.#inFlight++
    this.#residency.begin()
    return pending
  }

  /** Why no request can be sent any more. `ended` may settle later. */
  get #refusal(): BulkheadError | undefined {
    if (this.#reason === undefined && this.#peer.isReachable) return undefined
    return this.#closing ? this.#reason : compartmentGone(this.#request.extension.id, this.#reason)
  }

  #send(pending: PendingRequest): void {
    const call = pending.call!
    const { callId, invocation: { tool, args, reverts } } = call
    this.#broker.open(call)
    const env = this.#readsEnv ? this.#broker.variables(call) : undefined
    const key = this.#keyOf(call)
    if (reverts === undefined && key === undefined) {
      return this.#peer.execute(env === undefined ? [callId, tool, args] : [callId, tool, args, env], pending)
    }
    const all = [callId, tool, args, env ?? null, reverts ? { result: reverts.result } : null] as const
    this.#peer.execute(key === undefined ? [...all] : [...all, key], pending)
  }

  /** The code has `graceMs` to stop; after that its compartment is killed. */
  #cancelled(pending: PendingRequest, reason: BulkheadError): void {
    const { call } = pending
    if (call !== undefined) {
      // It was waiting for a slot, so it was never sent.
      if (pending.at < 0) return this.#finished(pending)
      this.#broker.end(call)
      this.#abandoned.add(call.callId)
      this.#peer.call('abort', call.callId, reason.message).catch(() => undefined)
    }
    if (!this.#peer.killable) return
    this.#lingering++
    this.#quiet ??= Promise.withResolvers()
    const { extension: { id }, limits: { graceMs } } = this.#request
    pending.overdue = setTimeout(() => this.#kill(overdueError(id, call ? undefined : reason)), graceMs)
  }

  #finished(pending: PendingRequest): void {
    this.#inFlight--
    this.#residency.end()
    const { call } = pending
    if (call !== undefined) {
      this.#broker.end(call)
      if (pending.reason !== undefined) this.#abandoned.delete(call.callId)
      this.#queue.leave(pending)
    }
    if (pending.overdue === undefined) return
    clearTimeout(pending.overdue)
    // A session that ends becomes quiet when it is gone.
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

  /** Waiting calls first: the end of a running call would start the next one. */
  #endAll(reason: BulkheadError): void {
    for (const pending of this.#queue.takeWaiting()) pending.failed(this.#refusal)
    this.#peer.endAll(reason)
  }

  #notRegistered(name: string): BulkheadError {
    return new BulkheadError('ToolNotRegistered', `The extension ${this.#request.extension.id} has no tool ${name}.`)
  }

  #tooManyCalls(): BulkheadError {
    const { extension: { id }, limits: { concurrentCalls } } = this.#request
    return new BulkheadError(
      'TooManyCalls',
      `The compartment of ${id} runs ${concurrentCalls} calls, and ${concurrentCalls * CALL_LIMITS.waitingPerSlot} more of `
        + 'the session wait for it. Wait for some of them.',
      { data: { limit: 'concurrentCalls' } },
    )
  }
}

/** Whether files have the word. Most extensions need neither, and get nothing with their calls. */
const names = (code: CompartmentRequest['code'], word: string): boolean =>
  code.kind === 'files' && code.files.values().some(({ buffer, byteOffset, length }) =>
    Buffer.from(buffer, byteOffset, length).includes(word))

/** `reason`: set when the overdue request is not a call. */
const overdueError = (id: string, reason: BulkheadError | undefined): BulkheadError => new BulkheadError(
  'CompartmentKilled',
  `The compartment of ${id} was ended because `
    + (reason ? `it did not stop. ${reason.message}` : 'a cancelled call in it went on.'),
  { data: { limit: 'graceMs' } },
)
