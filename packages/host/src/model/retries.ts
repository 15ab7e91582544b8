import {
  CALL_LIMITS, isRepeatable, RETRIED_CLASSES, type ConfigFile, type ErrorClass, type ErrorCode, type OutcomeError,
  type ToolDefinition,
} from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'

/** How often, when and after which errors a call is tried again. */
export interface Retries {
  /** The first one included. */
  readonly attempts: number
  readonly backoffBase: number
  readonly jitterMs: number
  readonly classes: ReadonlySet<ErrorClass>
}

export function retriesOf({ retries = {} }: ConfigFile): Retries {
  const { attempts, backoffBase, jitterMs, classes = RETRIED_CLASSES } = retries
  return {
    attempts: attempts ?? CALL_LIMITS.attempts, backoffBase: backoffBase ?? CALL_LIMITS.backoffBase,
    jitterMs: jitterMs ?? CALL_LIMITS.jitterMs, classes: new Set(classes),
  }
}

/** How an attempt failed. */
export interface Failure extends Pick<OutcomeError, 'class' | 'retryable'> {
  readonly code: ErrorCode
  readonly message: string
  readonly data?: Json | undefined
  /** The tool threw, and did not report it on purpose. */
  readonly isException?: boolean
}

/** A second attempt of the same call would have no time left, meet the same fault, or ask a person twice. */
const FINAL: ReadonlySet<ErrorCode> = new Set([
  'ExecutionTimeout', 'OutcomeUnknown', 'HostFrozen', 'CompartmentStartFailed', 'CompartmentStartTimeout', 'NoPlaceFree',
  'LifecycleFailure',
  'LifecycleTimeout',
  'CompartmentQuarantined', 'MaxRetriesExceeded', 'InteractionTimeout', 'TooManyCalls',
  'ServerUnavailable',
])

/** Codes of faults that last. */
const LASTING: ReadonlySet<ErrorCode> = new Set([
  'NotFound', 'InputInvalid', 'CapabilityDenied', 'WatchdogDenied', 'BudgetExhausted', 'EnvNameNotSet',
  'EnvNameUndeclared',
])

/** Messages of faults that last, from tools that use no codes and report every error as transient. */
const LASTING_MESSAGES: readonly RegExp[] = [
  /\b(?:not found|no such file|does not exist|cannot find|could not find|ENOENT)\b/i,
  /\boutside (?:of )?(?:the |its |your )?(?:workspace|project|sandbox)\b|\bpath traversal\b/i,
  /\b(?:blocked|security|forbidden|not permitted|not allowed|permission denied|access denied|EACCES|EPERM)\b/i,
  /\b(?:not accessible to the user|read-only disk|certificate)\b/i,
  /\bbudget\b/i,
  /\b(?:not a git repository|nothing to commit|merge conflict|unmerged|detached HEAD|uncommitted changes|non-fast-forward)\b/i,
  /\b(?:hunk|patch|diff)\b[^\n]{0,200}\b(?:failed|rejected|does not apply|malformed|corrupt)\b/i,
]

/** Counts of tests that failed or could not run. */
const FAILURE_COUNTS = ['failed', 'failures', 'error', 'errors', 'failed_count', 'error_count'] as const

/**
 * Whether another attempt may follow. A tool that reports that it is busy has not acted. After a crash or an exception
 * the effects of the tool decide: the host begins nothing for one with effects `none`, and a repetition of an
 * idempotent one is harmless. Others may have acted, and may have asked a person.
 */
export function mayRetry(
  failure: Failure, { effects }: Pick<ToolDefinition, 'effects'>, { classes }: Pick<Retries, 'classes'>,
): boolean {
  const { code, class: errorClass, retryable, isException = false } = failure
  if (FINAL.has(code) || !classes.has(errorClass)) return false
  if (errorClass === 'ExtensionHost') return retryable && isRepeatable(effects)
  if (isLasting(failure)) return false
  return errorClass === 'ToolTransient' || ((retryable || isException) && isRepeatable(effects))
}

/** Whether another attempt would fail in the same way: a missing file stays missing, and a failing test fails. */
export function isLasting({ code, message, data }: Pick<Failure, 'code' | 'message' | 'data'>): boolean {
  return LASTING.has(code) || LASTING_MESSAGES.some((pattern) => pattern.test(message)) || countsFailures(data)
}

const countsFailures = (data: Json | undefined): boolean =>
  isJsonObject(data) && FAILURE_COUNTS.some((name) => typeof data[name] === 'number' && data[name] > 0)

/** baseⁿ seconds and the jitter, so that calls that failed together are not repeated together. */
export const backoffMs = (attempt: number, { backoffBase, jitterMs }: Pick<Retries, 'backoffBase' | 'jitterMs'>): number =>
  backoffBase ** attempt * 1000 + Math.random() * jitterMs
