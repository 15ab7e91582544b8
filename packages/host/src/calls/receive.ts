import { BulkheadError, CALL_LIMITS, WIRE_LIMITS, type Clock } from '@bulkhead/contract'
import { RawCall, Refusal, type CallScope, type ReceivedCall, type Words } from '../policy/call.ts'

/** What a caller hands in. Typed for those who compile, checked for those who do not. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: unknown
}

export interface CallOptions {
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

/** A call as it comes in: the caller's words, and where and until when it is made. */
export interface Proposal {
  readonly scope: CallScope
  readonly call: unknown
  readonly timeoutMs: unknown
  readonly wrong?: BulkheadError | undefined
}

/** Contract: never throws, whatever it is handed. */
export function propose({ scope, call, timeoutMs, wrong }: Proposal, clock: Clock): RawCall {
  const words = readWords(call, timeoutMs, wrong)
  return new RawCall(repeatable(words.id), repeatable(words.name), words, scope, clock.monotonic())
}

function readWords(proposal: unknown, timeoutMs: unknown, wrong: BulkheadError | undefined): Words {
  try {
    const { id, name, arguments: input } = proposal as Partial<ToolCall>
    return { id, name, input, timeoutMs, wrong }
  } catch {
    return { id: undefined, name: undefined, input: undefined, timeoutMs, wrong }
  }
}

/** A name is never cut where it matters: no tool has one that long. */
const repeatable = (word: unknown): string =>
  typeof word === 'string' ? word.slice(0, WIRE_LIMITS.idChars).toWellFormed() : ''

/** The outline of a call: an id to answer under, a name to look up, a deadline that makes sense. */
export function receive(call: RawCall): ReceivedCall | Refusal {
  const { id, name, timeoutMs, wrong } = call.words
  // What had to be cut or mended to be repeated is no id.
  if (id === '' || id !== call.id) return malformed(`The call needs an id: a text of 1 to ${WIRE_LIMITS.idChars} characters`, '/id')
  if (typeof name !== 'string' || name === '') return malformed('The call needs the name of a tool', '/name')
  if (wrong !== undefined) return new Refusal(wrong)
  if (timeoutMs === undefined) return call.accept(undefined)
  if (typeof timeoutMs === 'number' && timeoutMs >= 1 && timeoutMs <= CALL_LIMITS.maxTimeoutMs) return call.accept(timeoutMs)
  return malformed(`timeoutMs must be a number from 1 to ${CALL_LIMITS.maxTimeoutMs}`, '')
}

const malformed = (message: string, path: string) =>
  new Refusal(new BulkheadError('InputInvalid', `${message}.`, { data: { path } }))
