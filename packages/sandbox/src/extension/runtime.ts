import type { AnyRuntime, BaseRuntime, BrokerMethod, Json, Outcome, Power } from '@bulkhead/contract'
import type { Ask } from './ask.ts'
import { fileAccess } from './file-access.ts'
import { interaction } from './interaction.ts'
import type { LazySignal } from './lazy-signal.ts'
import type { LogSender } from './log.ts'
import { netAccess } from './net-access.ts'
import { shellAccess } from './shell-access.ts'

export interface RuntimeParts {
  readonly callId: string
  readonly toolName: string
  readonly powers: ReadonlySet<Power>
  readonly cancel: LazySignal
  readonly ask: Ask
  readonly log: LogSender
}

/** A capability call of one tool call: the broker judges it by the grant of that call's tool. */
export type AskForCall = (method: BrokerMethod, ...args: readonly unknown[]) => Promise<Json>

/**
 * What `execute` is given beside its arguments: only what was granted is there. Nothing in it is a check; a tool that
 * gets around it meets the broker.
 */
export function buildRuntime({ callId, toolName, powers, cancel, ask, log }: RuntimeParts): AnyRuntime {
  const askForCall: AskForCall = (method, ...args) => ask(method, callId, ...args)
  const tell = (method: BrokerMethod, value: unknown): void => {
    // Nobody waits for these; one that is refused has nobody to tell either.
    askForCall(method, value).catch(() => undefined)
  }
  return Object.freeze({
    callId,
    toolName,
    get signal() {
      return cancel.signal
    },
    progress: (text: string) => tell('progress', String(text)),
    update: (partial: Json) => tell('update', partial),
    log: log.forCall(callId),
    ...(powers.size > 0 && granted(powers, askForCall)),
  })
}

function granted(powers: ReadonlySet<Power>, ask: AskForCall): Omit<AnyRuntime, keyof BaseRuntime> {
  return {
    ...((powers.has('fs.read') || powers.has('fs.write')) && { fs: fileAccess(powers, ask) }),
    ...(powers.has('net') && { net: netAccess(ask) }),
    ...(powers.has('shell') && { shell: shellAccess(ask) }),
    ...(powers.has('env') && { env: Object.freeze({ get: (name: string) => ask('env.get', name) as Promise<string> }) }),
    ...(powers.has('secrets') && {
      secrets: Object.freeze({ handle: (name: string) => ask('secrets.handle', name) as Promise<string> }),
    }),
    ...(powers.has('state') && {
      state: Object.freeze({
        read: () => ask('state.read'),
        write: async (data: Json) => void await ask('state.write', data),
      }),
    }),
    ...(powers.has('interact') && { interact: interaction(ask) }),
    ...(powers.has('tools') && {
      tools: Object.freeze({ call: (name: string, args: Json) => ask('tools.call', name, args) as unknown as Promise<Outcome> }),
    }),
  }
}
