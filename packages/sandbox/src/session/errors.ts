import type { CompartmentLimits, ErrorCode } from '@bulkhead/contract'
import { BulkheadError, isErrorCode } from '@bulkhead/contract'
import { CodedError, RemoteError } from '../wire/errors.ts'

/** How an error of a compartment is reported: the codes it may name itself, and the code for all others. */
export interface ErrorPolicy {
  readonly fallback: ErrorCode
  readonly allowed: ReadonlySet<ErrorCode>
}

/**
 * Other codes belong to the host, a person or a policy: a tool that could use them could end a session, or present its
 * failure as a refusal.
 */
const CALL_CODES: ReadonlySet<ErrorCode> = new Set([
  'NotFound', 'ProgramFailed', 'ResourceBusy', 'InputInvalid', 'OutputMalformed', 'OutputTooLarge', 'MessageTooLarge', 'BuiltinDenied',
  'ModuleNotFound',
  // For a module that forwards calls to a server.
  'ServerUnavailable', 'ServerLost', 'ToolDefinitionChanged', 'SignInRequired',
  // For the tool that starts sub-agents.
  'AgentNotFound', 'AgentInvalid', 'SubagentDepthExceeded',
  // Refusals of the broker that the tool did not catch.
  'CapabilityDenied', 'RuleDenied', 'CapabilityUnavailable', 'EnvNameUndeclared', 'EnvNameNotSet', 'SlotAccessDenied',
  'SlotVersionMissing', 'SlotDriftRejected', 'SlotMigrationFailed', 'StateInvalid', 'StoreUnavailable',
  'InteractionUnavailable', 'InteractionTimeout', 'ApprovalDenied', 'TooManyCalls', 'TooManyBytesRead',
  'TooManyBytesWritten', 'TooManyBytesSent', 'TooManyNestedCalls', 'UndoConflict',
])
const NO_CODES: ReadonlySet<ErrorCode> = new Set()

export const ON_LOAD: ErrorPolicy = {
  fallback: 'CompartmentStartFailed',
  allowed: new Set(['LockdownFailed', 'BuiltinDenied', 'ModuleNotFound', 'ExportsMismatch']),
}
export const ON_CALL: ErrorPolicy = { fallback: 'ToolExecutionFailed', allowed: CALL_CODES }
export const ON_APPROVAL_KEY: ErrorPolicy = { fallback: 'ApprovalKeyDerivationFailed', allowed: NO_CODES }
export const ON_MIGRATION: ErrorPolicy = { fallback: 'SlotMigrationFailed', allowed: NO_CODES }
export const ON_LIFECYCLE: ErrorPolicy = { fallback: 'LifecycleFailure', allowed: NO_CODES }

/**
 * An error of a compartment as a BulkheadError. A code that is not allowed becomes the fallback and is kept as data.
 */
export function compartmentError(error: unknown, { fallback, allowed }: ErrorPolicy): BulkheadError {
  if (BulkheadError.is(error)) return error
  if (!(error instanceof RemoteError || error instanceof CodedError)) return BulkheadError.from(error, fallback)
  const { code, message, data } = error
  if (isErrorCode(code) && allowed.has(code)) {
    return new BulkheadError(code, message, { cause: error, ...(data !== undefined && { data }) })
  }
  const claimed = code === undefined || code === fallback ? data : { code }
  return new BulkheadError(fallback, message, { cause: error, ...(claimed !== undefined && { data: claimed }) })
}

/** For requests that are open when a session is closed without a reason. */
export const closedEarly = (): BulkheadError =>
  new BulkheadError('CompartmentKilled', 'The compartment was closed while it was still needed.')

/** For a request that was never sent: it can be sent to the next compartment of the extension. */
export function compartmentGone(extension: string, reason: BulkheadError | undefined): BulkheadError {
  const message = `The compartment of ${extension} ended before the call was sent to it.`
  return new BulkheadError('CompartmentGone', message, { cause: reason })
}

export const isCompartmentGone = (error: unknown): boolean =>
  BulkheadError.is(error) && error.code === 'CompartmentGone'

/** For a packet over the limit. A compartment that follows the protocol refuses it on its own side instead. */
export function packetTooLarge({ messageBytes }: Pick<CompartmentLimits, 'messageBytes'>): BulkheadError {
  const message = `The compartment sent more than ${messageBytes} bytes at once, and was killed. `
    + 'Raise its messageBytes if it needs as many.'
  return new BulkheadError('MessageTooLarge', message, { data: { limit: 'messageBytes' } })
}
