import type { AnyRuntime, BrokerMethod, RuntimePart } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { CodedError } from '../wire/errors.ts'
import type { CallKey } from '../wire/protocol.ts'
import {
  envAccess, fileAccess, interaction, secretAccess, sessionAccess, shellAccess, stateAccess, stepAccess, toolAccess,
  UNDECLARED_RUNTIME, type CallBroker, type LogSender,
} from './capabilities.ts'
import { netAccess } from './net-access.ts'

export interface RuntimeParts {
  readonly toolName: string
  readonly powers: ReadonlySet<RuntimePart>
  readonly callBroker: CallBroker
  readonly log: LogSender
  readonly config: JsonObject
}

/** Makes a member of the runtime for one call. */
type Member = (call: RunningCall) => unknown

/**
 * Makes the second argument of `execute`. It has only what was granted; reading any other part throws an error that
 * says what to declare. It checks nothing: the broker does. The members are accessors of a prototype made once for each
 * tool, so that a call does not pay for parts it does not use.
 */
export function runtimeOf(parts: RuntimeParts): (call: RunningCall) => AnyRuntime {
  const { toolName, powers, callBroker, log, config } = parts
  const brokerFor = (call: RunningCall): CallBroker => (method, ...args) => callBroker(method, call.callId, ...args)
  const send = (call: RunningCall, method: BrokerMethod, value: unknown): void => {
    call.sends(callBroker(method, call.callId, value), (error) => {
      // A mistake of the author can only be reported in the log. The end of the host is not reported.
      if (error instanceof CodedError) log.send('warn', `${method} was not sent: ${error.message}`, call.callId)
    })
  }
  class Runtime extends CallRuntime {}
  defineMembers(Runtime.prototype, {
    callId: (call) => call.callId,
    toolName: () => toolName,
    call: (call) => Object.freeze({ idempotencyKey: call.idempotencyKey ?? '' }),
    step: (call) => stepAccess(brokerFor(call)),
    signal: (call) => call.signal,
    progress: (call) => (text: string) => send(call, 'progress', String(text)),
    update: (call) => (partial: Json) => send(call, 'update', partial),
    log: (call) => log.forCall(call.callId),
    config: () => config,
    ...((powers.has('fs.read') || powers.has('fs.write')) && { fs: (call) => fileAccess(powers, brokerFor(call)) }),
    ...(powers.has('net') && { net: (call) => netAccess(brokerFor(call)) }),
    ...(powers.has('shell') && { shell: (call) => shellAccess(brokerFor(call)) }),
    ...(powers.has('env') && { env: (call) => envAccess(brokerFor(call)) }),
    ...(powers.has('secrets') && { secrets: (call) => secretAccess(brokerFor(call)) }),
    ...(powers.has('state') && { state: (call) => stateAccess(brokerFor(call)) }),
    ...(powers.has('interact') && { interact: (call) => interaction(brokerFor(call)) }),
    ...(powers.has('tools') && { tools: (call) => toolAccess(brokerFor(call)) }),
    ...(powers.has('session') && { session: (call) => sessionAccess(brokerFor(call)) }),
  })
  return (call) => new Runtime(call) as unknown as AnyRuntime
}

class CallRuntime {
  readonly #call: RunningCall
  #made: Map<string, unknown> | undefined

  static {
    Object.freeze(Object.setPrototypeOf(this.prototype, UNDECLARED_RUNTIME))
  }

  constructor(call: RunningCall) {
    this.#call = call
    Object.freeze(this)
  }

  /** A member stays the same during the call. */
  static read(runtime: CallRuntime, name: string, member: Member): unknown {
    const made = runtime.#made ??= new Map()
    if (!made.has(name)) made.set(name, member(runtime.#call))
    return made.get(name)
  }
}

function defineMembers(prototype: CallRuntime, members: Readonly<Record<string, Member>>): void {
  for (const [name, member] of Object.entries(members)) {
    Object.defineProperty(prototype, name, {
      enumerable: true,
      get(this: CallRuntime) {
        return CallRuntime.read(this, name, member)
      },
    })
  }
  Object.freeze(prototype)
}

/** One tool call in progress. Most tools never read their signal, so it is created when one does. */
export class RunningCall {
  readonly callId: string
  readonly #key: CallKey | undefined
  #controller: AbortController | undefined
  #aborted: DOMException | undefined
  #sending = 0
  #delivered: PromiseWithResolvers<void> | undefined

  constructor(callId: string, key?: CallKey) {
    this.callId = callId
    this.#key = key
  }

  get idempotencyKey(): string | undefined {
    return typeof this.#key === 'function' ? this.#key() : this.#key
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted)
    }
    return this.#controller.signal
  }

  abort(reason: string): void {
    this.#aborted ??= new DOMException(reason, 'AbortError')
    this.#controller?.abort(this.#aborted)
    this.#delivered?.resolve()
  }

  /** Progress or a partial result is on its way to the host. */
  sends(delivery: Promise<unknown>, refused: (error: unknown) => void): void {
    this.#sending++
    const arrived = (): void => {
      if (--this.#sending === 0) this.#delivered?.resolve()
    }
    delivery.then(arrived, (error: unknown) => {
      refused(error)
      arrived()
    })
  }

  /**
   * Resolves when everything sent has arrived, so that no outcome overtakes it. Undefined when nothing is on its way.
   */
  get delivered(): Promise<void> | undefined {
    if (this.#sending === 0 || this.#aborted !== undefined) return undefined
    this.#delivered ??= Promise.withResolvers()
    return this.#delivered.promise
  }
}
