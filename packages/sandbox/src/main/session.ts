import type {
  CompartmentEnd, CompartmentRequest, CompartmentSession, CompartmentTool, ErrorCode, Json, JsonObject, LifecyclePhase, Placement,
  ToolInvocation,
} from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import type { Broker } from './broker/broker.ts'
import { CALL_CODES, judgeError, NO_CODES } from './judged-error.ts'
import type { Peer } from './peer.ts'
import { Pending } from './pending.ts'

export interface SessionParts {
  readonly request: CompartmentRequest
  readonly peer: Peer
  readonly broker: Broker
  readonly offers: CompartmentSession['offers']
}

let opened = 0

/** One extension's code, running. Whatever is asked of it settles once: by its answer, an abort, or its end. */
export class Session implements CompartmentSession {
  readonly id: string
  readonly placement: Placement
  readonly offers: CompartmentSession['offers']
  readonly ended: Promise<CompartmentEnd>
  readonly #request: CompartmentRequest
  readonly #peer: Peer
  readonly #broker: Broker
  readonly #tools: ReadonlyMap<string, CompartmentTool>
  readonly #pending = new Pending()
  /** Ids of calls the compartment still works on, also when their callers have been answered. */
  readonly #working = new Set<string>()
  /** Why it is being ended, once it is; what comes of it later is a consequence. */
  #reason: BulkheadError | undefined
  #closing = false
  #inFlight = 0
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
    this.ended = peer.ended.then((error) => this.#end(error))
    void this.ended.then(() => this.#quiet?.resolve())
  }

  get quiet(): Promise<void> | undefined {
    return this.#quiet?.promise
  }

  get inFlight(): number {
    return this.#inFlight
  }

  async lifecycle(phase: LifecyclePhase): Promise<void> {
    if (!this.offers.phases.has(phase)) return
    const { phaseMs } = this.#request.limits
    const late = setTimeout(() => {
      const why = `The phase ${phase} of ${this.#request.extension.id} took longer than ${phaseMs} ms. Its compartment was ended.`
      this.#kill(new BulkheadError('LifecycleTimeout', why))
    }, phaseMs)
    try {
      await this.#asked('LifecycleFailure', NO_CODES, () => this.#peer.lifecycle(phase))
    } finally {
      clearTimeout(late)
    }
  }

  async call({ callId, tool: name, args, signal, onProgress, onUpdate }: ToolInvocation): Promise<Json> {
    const tool = this.#tool(name)
    const { concurrentCalls } = this.#request.limits
    if (this.#inFlight >= concurrentCalls) {
      throw new BulkheadError(
        'TooManyCalls',
        `The compartment of ${this.#request.extension.id} has ${concurrentCalls} calls in flight already. Wait for some of them.`,
      )
    }
    // An earlier attempt of the same call may still be on its way out.
    const id = this.#working.has(callId) ? `${callId}~${++this.#attempts}` : callId
    const close = this.#broker.open({ callId: id, tool, signal, onProgress, onUpdate })
    return this.#abortable(signal, id, close, () =>
      this.#asked('ToolExecutionFailed', CALL_CODES, () => this.#peer.execute(id, name, args)))
  }

  async deriveApprovalKey(name: string, args: JsonObject, signal: AbortSignal): Promise<string> {
    this.#tool(name)
    const key = await this.#abortable(signal, undefined, () => undefined, () =>
      this.#asked('ApprovalKeyDerivationFailed', NO_CODES, () => this.#peer.deriveApprovalKey(name, args)))
    if (typeof key !== 'string') {
      throw new BulkheadError('ApprovalKeyDerivationFailed', `deriveApprovalKey of ${name} did not return a text.`)
    }
    return key
  }

  close(reason?: BulkheadError): Promise<void> {
    this.#closing = true
    this.#kill(reason ?? new BulkheadError('CompartmentKilled', 'The compartment was closed while it was still needed.'))
    return Promise.all([this.#peer.gone, this.#broker.close()]).then(() => undefined)
  }

  #tool(name: string): CompartmentTool {
    const tool = this.#tools.get(name)
    if (tool === undefined) {
      throw new BulkheadError('ToolNotRegistered', `The extension ${this.#request.extension.id} has no tool ${name}.`)
    }
    return tool
  }

  #asked<T>(fallback: ErrorCode, own: ReadonlySet<ErrorCode>, ask: () => Promise<T>): Promise<T> {
    return this.#pending.track(() => ask().catch((error: unknown) => {
      throw judgeError(error, fallback, own)
    }))
  }

  /** The caller is answered at once when it aborts; the code gets a little time to notice, and is ended when it does not. */
  #abortable<T>(signal: AbortSignal, callId: string | undefined, settled: () => void, begin: () => Promise<T>): Promise<T> {
    const reason = (): BulkheadError => BulkheadError.from(signal.reason, 'ToolCancelled')
    if (signal.aborted) {
      settled()
      return Promise.reject(reason())
    }
    return new Promise<T>((resolve, reject) => {
      let overdue: NodeJS.Timeout | undefined
      const abort = (): void => {
        const why = reason()
        settled()
        reject(why)
        if (callId !== undefined) this.#peer.abort(callId, why.message).catch(() => undefined)
        if (!this.#peer.killable) return
        this.#lingering++
        this.#quiet ??= Promise.withResolvers()
        overdue = setTimeout(() => this.#kill(overdueError(this.#request.extension.id)), this.#request.limits.graceMs)
      }
      signal.addEventListener('abort', abort, { once: true })
      this.#inFlight++
      if (callId !== undefined) this.#working.add(callId)
      begin().finally(() => {
        this.#inFlight--
        if (callId !== undefined) this.#working.delete(callId)
        if (overdue !== undefined) this.#lingerEnded(overdue)
        signal.removeEventListener('abort', abort)
        settled()
      }).then(resolve, reject)
    })
  }

  #lingerEnded(overdue: NodeJS.Timeout): void {
    clearTimeout(overdue)
    // One that is being ended becomes quiet when it is gone.
    if (--this.#lingering > 0 || this.#reason !== undefined) return
    this.#quiet?.resolve()
    this.#quiet = undefined
  }

  #kill(reason: BulkheadError): void {
    this.#reason ??= reason
    this.#pending.endAll(this.#reason)
    this.#peer.kill()
  }

  #end(error: BulkheadError | undefined): CompartmentEnd {
    const reason = this.#reason ?? error ?? new BulkheadError('CompartmentCrashed', 'The compartment ended.')
    this.#pending.endAll(reason)
    void this.#broker.close()
    return this.#closing ? { kind: 'closed' } : { kind: 'failed', error: reason }
  }
}

const overdueError = (id: string): BulkheadError =>
  new BulkheadError('CompartmentKilled', `The compartment of ${id} was ended because a cancelled call in it went on.`)
