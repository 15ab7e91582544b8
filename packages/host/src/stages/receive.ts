import { BulkheadError, CALL_LIMITS, WIRE_LIMITS } from '@bulkhead/contract'
import { Refusal, type RawCall } from '../call.ts'

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

/** Where a call is made from. */
export type CallScope = Omit<RawCall, 'id' | 'name' | 'input' | 'timeoutMs'>

/** A call's own words, read once. */
export interface Words {
  readonly id: unknown
  readonly name: unknown
  readonly input: unknown
}

/** Contract: never throws, whatever it is handed. */
export function readWords(proposal: unknown): Words {
  try {
    const { id, name, arguments: input } = proposal as Partial<ToolCall>
    return { id, name, input }
  } catch {
    return { id: undefined, name: undefined, input: undefined }
  }
}

/** As much of a text as an outcome and an event can repeat. */
export const repeatable = (word: unknown): string =>
  typeof word === 'string' ? word.slice(0, WIRE_LIMITS.idChars).toWellFormed() : ''

/** The outline of a call: an id to answer under, a name to look up, a deadline that makes sense. */
export function receive({ id, name, input }: Words, timeoutMs: unknown, scope: CallScope): RawCall | Refusal {
  if (typeof id !== 'string' || id === '' || id.length > WIRE_LIMITS.idChars || !id.isWellFormed()) {
    return malformed(`The call needs an id: a text of 1 to ${WIRE_LIMITS.idChars} characters`, '/id')
  }
  if (typeof name !== 'string' || name === '') return malformed('The call needs the name of a tool', '/name')
  if (timeoutMs !== undefined && !(typeof timeoutMs === 'number' && timeoutMs >= 1 && timeoutMs <= CALL_LIMITS.maxTimeoutMs)) {
    return malformed(`timeoutMs must be a number from 1 to ${CALL_LIMITS.maxTimeoutMs}`, '')
  }
  return { ...scope, id, name, input, timeoutMs }
}

const malformed = (message: string, path: string) =>
  new Refusal(new BulkheadError('InputInvalid', `${message}.`, { data: { path } }))
