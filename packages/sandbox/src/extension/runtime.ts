import type { AnyRuntime, BaseRuntime, BrokerMethod, Json, Power } from '@bulkhead/contract'
import type { Ask } from './ask.ts'
import { fileAccess } from './file-access.ts'
import { interaction } from './interaction.ts'
import type { LogSender } from './log.ts'

export interface RuntimeParts {
  readonly callId: string
  readonly toolName: string
  readonly powers: ReadonlySet<Power>
  readonly signal: AbortSignal
  readonly ask: Ask
  readonly log: LogSender
}

/** A capability call of one tool call: the broker judges it by the grant of that call's tool. */
export type AskForCall = (method: BrokerMethod, ...args: readonly unknown[]) => Promise<Json>

/**
 * What `execute` is given beside its arguments: only what was granted is there. Nothing in it is a check; a tool that
 * gets around it meets the broker.
 */
export function buildRuntime({ callId, toolName, powers, signal, ask, log }: RuntimeParts): AnyRuntime {
  const askForCall: AskForCall = (method, ...args) => ask(method, callId, ...args)
  const tell = (method: BrokerMethod, value: unknown): void => {
    // Nobody waits for these; one that is refused has nobody to tell either.
    askForCall(method, value).catch(() => undefined)
  }
  const base: BaseRuntime = {
    callId,
    toolName,
    signal,
    progress: (text) => tell('progress', String(text)),
    update: (partial) => tell('update', partial),
    log: log.forCall(callId),
  }
  return Object.freeze({
    ...base,
    ...((powers.has('fs.read') || powers.has('fs.write')) && { fs: fileAccess(powers, askForCall) }),
    ...(powers.has('env') && { env: Object.freeze({ get: (name: string) => askForCall('env.get', name) as Promise<string> }) }),
    ...(powers.has('state') && {
      state: Object.freeze({
        read: () => askForCall('state.read'),
        write: async (data: Json) => void await askForCall('state.write', data),
      }),
    }),
    ...(powers.has('interact') && { interact: interaction(askForCall) }),
  })
}
