import type { ErrorCode } from '@bulkhead/contract'
import { BulkheadError, isErrorCode } from '@bulkhead/contract'
import { CodedError, RemoteError } from '../wire/remote-error.ts'

/**
 * What a compartment may say of itself. Other codes speak for the host, a person or a policy: a tool that could use them
 * could end a session or pass its failure off as a refusal.
 */
const OWN_CODES: ReadonlySet<ErrorCode> = new Set([
  'ToolExecutionFailed', 'NotFound', 'ResourceBusy', 'InputInvalid', 'OutputMalformed', 'OutputTooLarge', 'ApprovalKeyDerivationFailed',
  'CompartmentStartFailed', 'LockdownFailed', 'BuiltinDenied', 'ModuleNotFound', 'ExportsMismatch', 'LifecycleFailure', 'ToolNotRegistered',
  // Refusals of the broker that the tool did not catch.
  'CapabilityDenied', 'CapabilityUnavailable', 'EnvNameUndeclared', 'EnvNameNotSet', 'SlotAccessDenied', 'StateInvalid', 'StoreUnavailable',
  'InteractionUnavailable', 'InteractionTimeout', 'ApprovalDenied',
])

/** An error of a compartment as one of ours. A code it has no right to becomes the fallback, and is kept as data. */
export function judgeError(error: unknown, fallback: ErrorCode): BulkheadError {
  if (BulkheadError.is(error)) return error
  if (!(error instanceof RemoteError || error instanceof CodedError)) return BulkheadError.from(error, fallback)
  const { code, message, data } = error
  if (isErrorCode(code) && OWN_CODES.has(code)) return new BulkheadError(code, message, { cause: error, ...(data !== undefined && { data }) })
  return new BulkheadError(fallback, message, { cause: error, ...(code !== undefined && { data: { code } }) })
}
