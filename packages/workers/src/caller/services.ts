import {
  BulkheadError, type CompartmentRequest, type InteractionRequest, type LogEntry, type Power, type ToolInvocation,
} from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import type { NoteMethod, RequestMethod, WorkerEntry } from '../messages/protocol.ts'
import { violation } from '../messages/signed-messages.ts'

/** A call as its services see it. */
export interface ServedCall {
  readonly request: CompartmentRequest
  readonly invocation: ToolInvocation
  /** The effective grant. Whatever a worker asks for must be in it. */
  readonly grant: Power
  /** Aborted when the call is over. */
  readonly signal: AbortSignal
}

const WINDOW_MS = 1_000

/** Answers what a worker asks for one call, within the limits of a compartment. */
export class CallServices {
  readonly #call: ServedCall
  #open = 0
  #nested = 0
  #logged = 0
  #windowStart = 0
  #windowCount = 0

  constructor(call: ServedCall) {
    this.#call = call
  }

  /** A note of a newer worker has no effect. Throws BoundaryViolation, or the error of the limit that the worker exceeded. */
  note(method: string, [first = null, second = null]: readonly Json[]): void {
    this.#count()
    const { invocation, request: { services, limits } } = this.#call
    switch (method as NoteMethod) {
      case 'log': {
        if (!LEVELS.has(first) || typeof second !== 'string') throw violation('sent a malformed line for the log')
        this.#logged += second.length
        if (this.#logged > limits.logBytes) return
        return services.log({ level: first as LogEntry['level'], text: second, callId: invocation.callId })
      }
      case 'progress':
        if (typeof first !== 'string') throw violation('sent progress that is not text')
        return invocation.onProgress?.(first)
      case 'update': return invocation.onUpdate?.(first)
      case 'key': {
        const { key, host, method: verb, path, refused } = isJsonObject(first) ? first : {}
        if (![key, host, verb, path].every((text) => typeof text === 'string')) throw violation('reported a malformed use of a key')
        return invocation.onKeyUse?.({
          key: key as string, host: host as string, method: verb as string, path: path as string,
          ...(typeof refused === 'string' && { refused }),
        })
      }
    }
  }

  /** Rejects with the error for the worker, and with BoundaryViolation. */
  async answer({ method, args }: Extract<WorkerEntry, { kind: 'request' }>): Promise<Json> {
    this.#count()
    const { limits } = this.#call.request
    if (++this.#open > limits.outstandingRequests) throw violation('has too many requests open')
    try {
      return await this.#answer(method, args)
    } finally {
      this.#open--
    }
  }

  async #answer(method: string, [first = null, second = null]: readonly Json[]): Promise<Json> {
    const { invocation, request: { services, limits, extension }, signal } = this.#call
    const { callId, steps } = invocation
    if (signal.aborted) throw BulkheadError.from(signal.reason, 'ToolCancelled')
    const text = (value: Json): string => {
      if (typeof value === 'string' && value.length <= 4_096) return value
      throw violation('sent something else than a short text')
    }
    switch (method as RequestMethod) {
      case 'begin':
        await invocation.beginEffect?.(text(first))
        return null
      case 'interact': {
        this.#require('interact')
        if (!services.interact || !isJsonObject(first)) throw unavailable(method)
        const answer = await services.interact(second === true ? null : callId, first as unknown as InteractionRequest, signal)
        return answer as unknown as Json
      }
      case 'callTool': {
        this.#require('tools.call')
        if (!services.callTool) throw unavailable(method)
        if (++this.#nested > limits.nestedCalls) throw new BulkheadError('TooManyNestedCalls', `The call made more than ${limits.nestedCalls} calls.`)
        return await services.callTool(callId, text(first), second, signal) as unknown as Json
      }
      case 'state.read':
      case 'state.write': {
        const owns = this.#layers.every(({ state }) => state.includes(extension.id) || state.includes('*'))
        if (!services.state || !owns) throw unavailable(method)
        return method === 'state.read' ? services.state.read(callId) : services.state.write(first, callId).then(() => null)
      }
      case 'session.read':
      case 'session.write': {
        this.#require('session')
        if (!services.session) throw unavailable(method)
        return method === 'session.read' ? services.session.read(callId) : services.session.write(callId, first).then(() => null)
      }
      case 'step.begin': return await steps?.begin(text(first)) ?? null
      case 'step.end':
        await (isJsonObject(second) ? steps?.end(text(first), second['result'] ?? null) : steps?.end(text(first)))
        return null
      default: throw new BulkheadError('CapabilityUnavailable', `This host is older than the worker, and does not know "${text(method)}". Update it.`)
    }
  }

  get #layers(): readonly Power[] {
    const { grant } = this.#call
    return [grant, ...grant.ceilings ?? []]
  }

  #require(name: 'interact' | 'tools.call' | 'session'): void {
    if (!this.#layers.every(({ capabilities }) => capabilities.includes(name))) throw unavailable(name)
  }

  #count(): void {
    const now = performance.now()
    if (now - this.#windowStart >= WINDOW_MS) {
      this.#windowStart = now
      this.#windowCount = 0
    }
    if (++this.#windowCount > this.#call.request.limits.messagesPerSecond) throw violation('sends too many messages')
  }
}

const LEVELS: ReadonlySet<Json> = new Set(['debug', 'info', 'warn', 'error'])

const unavailable = (what: string): BulkheadError =>
  new BulkheadError('CapabilityDenied', `The worker asked for ${what}, which the grant of the call does not cover.`)
