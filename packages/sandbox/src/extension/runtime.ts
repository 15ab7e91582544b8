import type { AnyRuntime, BrokerMethod, Outcome, RuntimePart, SessionMemory } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { CodedError } from '../wire/remote-error.ts'
import type { Ask, AskForCall } from './ask.ts'
import { fileAccess } from './file-access.ts'
import { interaction } from './interaction.ts'
import type { LogSender } from './log.ts'
import { netAccess } from './net-access.ts'
import type { RunningCall } from './running-call.ts'
import { shellAccess } from './shell-access.ts'
import { UNDECLARED_RUNTIME } from './undeclared.ts'

export interface RuntimeParts {
  readonly toolName: string
  readonly powers: ReadonlySet<RuntimePart>
  readonly ask: Ask
  readonly log: LogSender
}

/** How a member of a runtime is made for one call. */
type Member = (call: RunningCall) => unknown

/**
 * Makes what `execute` is given beside its arguments: only what was granted is there, and reaching for anything else says what to
 * declare. Nothing in it is a check; a tool that gets around it meets the broker. The members are accessors of a prototype made
 * once for each tool, for a call should not pay for what it does not look at.
 */
export function runtimeOf({ toolName, powers, ask, log }: RuntimeParts): (call: RunningCall) => AnyRuntime {
  const askFor = (call: RunningCall): AskForCall => (method, ...args) => ask(method, call.callId, ...args)
  const tell = (call: RunningCall, method: BrokerMethod, value: unknown): void => {
    call.tells(ask(method, call.callId, value), (error) => {
      // Of what is wrong with it nobody else would hear. Who is not there any more is no affair of its author.
      if (error instanceof CodedError) log.send('warn', `${method} was not sent: ${error.message}`, call.callId)
    })
  }
  class Runtime extends CallRuntime {}
  defineMembers(Runtime.prototype, {
    callId: (call) => call.callId,
    toolName: () => toolName,
    signal: (call) => call.signal,
    progress: (call) => (text: string) => tell(call, 'progress', String(text)),
    update: (call) => (partial: Json) => tell(call, 'update', partial),
    log: (call) => log.forCall(call.callId),
    ...((powers.has('fs.read') || powers.has('fs.write')) && { fs: (call) => fileAccess(powers, askFor(call)) }),
    ...(powers.has('net') && { net: (call) => netAccess(askFor(call)) }),
    ...(powers.has('shell') && { shell: (call) => shellAccess(askFor(call)) }),
    ...(powers.has('env') && { env: (call) => envAccess(askFor(call)) }),
    ...(powers.has('secrets') && { secrets: (call) => secretAccess(askFor(call)) }),
    ...(powers.has('state') && { state: (call) => stateAccess(askFor(call)) }),
    ...(powers.has('interact') && { interact: (call) => interaction(askFor(call)) }),
    ...(powers.has('tools') && { tools: (call) => toolAccess(askFor(call)) }),
    ...(powers.has('session') && { session: (call) => sessionAccess(askFor(call)) }),
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

  /** A member stays the same for as long as the call runs. */
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

const envAccess = (ask: AskForCall): object => Object.freeze({ get: (name: string) => ask('env.get', name) as Promise<string> })

const secretAccess = (ask: AskForCall): object =>
  Object.freeze({ handle: (name: string) => ask('secrets.handle', name) as Promise<string> })

const stateAccess = (ask: AskForCall): object => Object.freeze({
  read: () => ask('state.read'),
  write: async (data: Json) => void await ask('state.write', data),
})

const toolAccess = (ask: AskForCall): object => Object.freeze({
  call: (name: string, args: Json) => ask('tools.call', name, args) as unknown as Promise<Outcome>,
})

const sessionAccess = (ask: AskForCall): SessionMemory => {
  const read = () => ask('session.read') as Promise<unknown> as Promise<{ readonly id: string; readonly data: Json }>
  return Object.freeze({
    id: async () => (await read()).id,
    read: async () => (await read()).data,
    write: async (data: Json) => void await ask('session.write', data),
  })
}
