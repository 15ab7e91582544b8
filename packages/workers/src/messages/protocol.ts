import { BulkheadError, isErrorCode, type ErrorCode } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { violation } from './signed-messages.ts'

/** What a worker asks its caller. Each has one answer. */
export type RequestMethod =
  | 'begin' | 'interact' | 'callTool' | 'state.read' | 'state.write' | 'session.read' | 'session.write' | 'step.begin'
  | 'step.end'

/** What a worker tells its caller. */
export type NoteMethod = 'log' | 'progress' | 'update' | 'key'

/** From a worker, which may be newer: `method` can be one that this version does not know. `id`: of a request. */
export type WorkerEntry =
  | { readonly kind: 'note'; readonly method: string; readonly args: readonly Json[] }
  | { readonly kind: 'request'; readonly id: number; readonly method: string; readonly args: readonly Json[] }

const MOST_ARGUMENTS = 3

/** Throws BoundaryViolation. */
export function readWorkerEntry(entry: Json): WorkerEntry {
  if (!Array.isArray(entry)) throw violation('sent an entry that is not a list')
  const [id, method, ...args] = entry as readonly Json[]
  if (args.length > MOST_ARGUMENTS) throw violation('sent too many arguments')
  if (typeof method !== 'string') throw violation('called a method without a name')
  if (id === null) return { kind: 'note', method, args }
  if (Number.isSafeInteger(id)) return { kind: 'request', id: id as number, method, args }
  throw violation('sent a request without a number')
}

/** The answer of a caller. */
export type Answer =
  | { readonly id: number; readonly value: Json }
  | { readonly id: number; readonly error: BulkheadError }

export const answerEntry = (id: number, value: Json): Json => [id, true, value]
export const failureEntry = (id: number, thrown: unknown): Json => [id, false, wireError(thrown)]

/** Throws BoundaryViolation. */
export function readAnswer(entry: Json): Answer {
  const [id, ok, value] = Array.isArray(entry) ? entry as readonly Json[] : []
  if (!Number.isSafeInteger(id) || typeof ok !== 'boolean' || value === undefined) throw violation('sent a malformed answer')
  return ok ? { id: id as number, value } : { id: id as number, error: readError(value, 'ToolExecutionFailed') }
}

const MOST_TEXT = 16 * 1024

/** An error as the other side may see it: without its stack. The name of the cause tells a report from an exception. */
export function wireError(thrown: unknown): Json {
  const { code, message, data, cause } = BulkheadError.from(thrown)
  const name = (cause as { readonly name?: unknown } | undefined)?.name
  return {
    code, message: message.slice(0, MOST_TEXT).toWellFormed(), ...(data !== undefined && { data }),
    ...(typeof name === 'string' && { cause: name.slice(0, 100).toWellFormed() }),
  }
}

/** Only the caller decides this. A worker that claims it has failed. */
const OF_CALLER: ReadonlySet<ErrorCode> = new Set(['CompartmentGone', 'HostFrozen', 'NoWorkerReady', 'LeaseLost'])

/** The error of the other side. `unknown`: the code of one that this version does not know. */
export function readError(value: Json, unknown: ErrorCode): BulkheadError {
  const { code, message, data, cause } = isJsonObject(value) ? value : {}
  if (typeof message !== 'string') throw violation('sent a malformed error')
  const known = isErrorCode(code) && !OF_CALLER.has(code) ? code : unknown
  return new BulkheadError(known, message.slice(0, MOST_TEXT), {
    ...(data !== undefined && { data }),
    ...(typeof cause === 'string' && { cause: Object.assign(new Error(message.slice(0, MOST_TEXT)), { name: cause }) }),
  })
}
