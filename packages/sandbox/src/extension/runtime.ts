import type {
  AnyRuntime, BrokerMethod, Interact, InteractionOption, InteractionRequest, InteractionResponse, Outcome, PipeOptions, PipeResult,
  RuntimePart, SessionMemory, Shell, ShellResult, ShellStage,
} from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { CodedError } from '../wire/errors.ts'
import type { CallBroker, LogSender } from './broker-calls.ts'
import type { RunningCall } from './running-call.ts'
import { fileAccess } from './file-access.ts'
import { netAccess } from './net-access.ts'
import { UNDECLARED_RUNTIME } from './undeclared.ts'

export interface RuntimeParts {
  readonly toolName: string
  readonly powers: ReadonlySet<RuntimePart>
  readonly callBroker: CallBroker
  readonly log: LogSender
}

/** Makes a member of the runtime for one call. */
type Member = (call: RunningCall) => unknown

/**
 * Makes the second argument of `execute`. It has only what was granted; reading any other part throws an error that says what to
 * declare. It checks nothing: the broker does. The members are accessors of a prototype made once for each tool, so that a call
 * does not pay for parts it does not use.
 */
export function runtimeOf({ toolName, powers, callBroker, log }: RuntimeParts): (call: RunningCall) => AnyRuntime {
  const brokerFor = (call: RunningCall): CallBroker => (method, ...args) => callBroker(method, call.callId, ...args)
  const send = (call: RunningCall, method: BrokerMethod, value: unknown): void => {
    call.sends(callBroker(method, call.callId, value), (error) => {
      // The author made a mistake, and the log is the only place to say so. A host that is gone is none.
      if (error instanceof CodedError) log.send('warn', `${method} was not sent: ${error.message}`, call.callId)
    })
  }
  class Runtime extends CallRuntime {}
  defineMembers(Runtime.prototype, {
    callId: (call) => call.callId,
    toolName: () => toolName,
    signal: (call) => call.signal,
    progress: (call) => (text: string) => send(call, 'progress', String(text)),
    update: (call) => (partial: Json) => send(call, 'update', partial),
    log: (call) => log.forCall(call.callId),
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

const envAccess = (callBroker: CallBroker): object => Object.freeze({ get: (name: string) => callBroker('env.get', name) as Promise<string> })

const secretAccess = (callBroker: CallBroker): object =>
  Object.freeze({ handle: (name: string) => callBroker('secrets.handle', name) as Promise<string> })

const stateAccess = (callBroker: CallBroker): object => Object.freeze({
  read: () => callBroker('state.read'),
  write: async (data: Json) => void await callBroker('state.write', data),
})

const toolAccess = (callBroker: CallBroker): object => Object.freeze({
  call: (name: string, args: Json) => callBroker('tools.call', name, args) as unknown as Promise<Outcome>,
})

const sessionAccess = (callBroker: CallBroker): SessionMemory => {
  const read = () => callBroker('session.read') as Promise<unknown> as Promise<{ readonly id: string; readonly data: Json }>
  return Object.freeze({
    id: async () => (await read()).id,
    read: async () => (await read()).data,
    write: async (data: Json) => void await callBroker('session.write', data),
  })
}

/** Commands: a name and an argument vector. */
export function shellAccess(callBroker: CallBroker): Shell {
  return Object.freeze({
    run: (cmd, args, options) =>
      callBroker('shell.run', cmd, args ?? [], { cwd: options?.cwd, input: options?.input }) as Promise<unknown> as Promise<ShellResult>,
    pipe: (stages, options) =>
      callBroker('shell.pipe', stages.map(stageRequest), optionsRequest(options)) as Promise<unknown> as Promise<PipeResult>,
  } satisfies Shell)
}

const stageRequest = ({ cmd, args = [], input, stdout, stderr, as }: ShellStage): object => ({ cmd, args, input, stdout, stderr, as })
const optionsRequest = ({ cwd, timeoutMs, wall, quiet }: PipeOptions = {}): object => ({ cwd, timeoutMs, wall, quiet })

/** Questions to a person. Each method sends one request and checks the kind of the response. */
export function interaction(callBroker: CallBroker): Interact {
  const answer = async (request: InteractionRequest): Promise<Json> => {
    const response = await callBroker('interact', request) as unknown as InteractionResponse
    switch (response.status) {
      case 'accepted':
        return response.value
      case 'rejected':
        throw new CodedError('ApprovalDenied', response.reason ?? 'The person declined to answer.')
      case 'timeout':
        throw new CodedError('InteractionTimeout', 'The question was not answered in time. Ask again.')
    }
  }
  const text = async (request: InteractionRequest): Promise<string> => String(await answer(request))
  const select = (prompt: string, options: readonly InteractionOption[], multiple: boolean): Promise<Json> =>
    answer({ kind: 'Select', prompt, options, multiple })
  return Object.freeze({
    ask: (prompt) => text({ kind: 'Ask', prompt }),
    confirm: async (prompt) => await answer({ kind: 'Confirm', prompt }) === true,
    select: async (prompt, options) => String(await select(prompt, options, false)),
    selectMany: async (prompt, options) => {
      const chosen = await select(prompt, options, true)
      return Array.isArray(chosen) ? chosen.map(String) : [String(chosen)]
    },
    deviceCode: async (request) => void await answer({ kind: 'Auth.DeviceCode', ...request }),
    password: (prompt) => text({ kind: 'Auth.Password', prompt }),
  } satisfies Interact)
}
