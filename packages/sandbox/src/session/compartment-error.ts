import type { ErrorCode } from '@bulkhead/contract'
import { BulkheadError, isErrorCode } from '@bulkhead/contract'
import { CodedError, RemoteError } from '../wire/remote-error.ts'

/**
 * What a compartment may say of itself, by what it was asked. Other codes speak for the host, a person or a policy: a
 * tool that could use them could end a session, or pass its failure off as someone's refusal.
 */
export const LOAD_CODES: ReadonlySet<ErrorCode> = new Set([
  'LockdownFailed', 'BuiltinDenied', 'ModuleNotFound', 'ExportsMismatch',
])
export const CALL_CODES: ReadonlySet<ErrorCode> = new Set([
  'NotFound', 'ResourceBusy', 'InputInvalid', 'OutputMalformed', 'OutputTooLarge', 'MessageTooLarge', 'BuiltinDenied',
  'ModuleNotFound',
  // Of a module that carries calls to a server.
  'ServerUnavailable', 'ServerLost', 'ToolDefinitionChanged',
  // Refusals of the broker that the tool did not catch.
  'CapabilityDenied', 'CapabilityUnavailable', 'EnvNameUndeclared', 'EnvNameNotSet', 'SlotAccessDenied', 'SlotVersionMissing',
  'SlotDriftRejected', 'SlotMigrationFailed', 'StateInvalid', 'StoreUnavailable', 'InteractionUnavailable', 'InteractionTimeout', 'ApprovalDenied', 'TooManyCalls',
  'TooManyBytesRead', 'TooManyBytesWritten', 'TooManyBytesSent', 'TooManyNestedCalls',
])
export const NO_CODES: ReadonlySet<ErrorCode> = new Set()

/** An error of a compartment as one of ours. A code it has no right to becomes the fallback, and is kept as data. */
export function judgeError(error: unknown, fallback: ErrorCode, own: ReadonlySet<ErrorCode>): BulkheadError {
  if (BulkheadError.is(error)) return error
  if (!(error instanceof RemoteError || error instanceof CodedError)) return BulkheadError.from(error, fallback)
  const { code, message, data } = error
  if (isErrorCode(code) && own.has(code)) {
    return new BulkheadError(code, message, { cause: error, ...(data !== undefined && { data }) })
  }
  const claimed = code === undefined || code === fallback ? data : { code }
  return new BulkheadError(fallback, message, { cause: error, ...(claimed !== undefined && { data: claimed }) })
}
