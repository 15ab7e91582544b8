import type { ErrorCode, ValidationStage } from '@bulkhead/contract'

/** One thing that is wrong, seen from inside a stage: it knows neither layer nor folder. */
export interface Fault {
  readonly stage: ValidationStage
  readonly code: ErrorCode
  /** JSON Pointer inside the manifest, the configuration or `file`. */
  readonly path: string
  readonly message: string
  /** Said when it is more helpful than what the error table says for the code. */
  readonly cure?: string
  /** Path of the file at fault, relative to the extension's folder. */
  readonly file?: string
  /** Absolute place at fault, where it is outside the extension's folder. */
  readonly location?: string
}

/** Beyond this a longer list helps nobody. */
export const MAX_FAULTS = 20

/** What a stage returns. Contract: a stage never throws for what it is shown. */
export interface Passed<T> {
  readonly ok: true
  readonly value: T
  readonly warnings: readonly Fault[]
}

export type StageResult<T> =
  | Passed<T>
  | { readonly ok: false; readonly faults: readonly Fault[] }

const NONE: readonly Fault[] = Object.freeze([])

export const pass = <T>(value: T, warnings = NONE): Passed<T> => ({ ok: true, value, warnings })
export const refuse = (...faults: readonly [Fault, ...Fault[]]): StageResult<never> => ({ ok: false, faults })

/** Hands what one stage has made to the next. A refusal goes straight to the end. */
export function next<From, To>(result: StageResult<From>, stage: (value: From) => StageResult<To>): StageResult<To> {
  if (!result.ok) return result
  return withWarnings(result.warnings, stage(result.value))
}

const withWarnings = <T>(earlier: readonly Fault[], result: StageResult<T>): StageResult<T> =>
  !result.ok || earlier.length === 0 ? result : pass(result.value, [...earlier, ...result.warnings])

/** Most stages have nothing to wait for most of the time, and a thousand extensions are many turns of the queue. */
export type Eventually<T> = T | Promise<T>

export const whenever = <From, To>(value: Eventually<From>, then: (value: From) => Eventually<To>): Eventually<To> =>
  value instanceof Promise ? value.then(then) : then(value)

/** As `next`, for a stage that may have to wait. */
export function nextWhenever<From, To>(
  result: StageResult<From>, stage: (value: From) => Eventually<StageResult<To>>,
): Eventually<StageResult<To>> {
  if (!result.ok) return result
  return whenever(stage(result.value), (following) => withWarnings(result.warnings, following))
}

/** For checks that look at everything before they answer. */
export const passUnless = <T>(faults: readonly Fault[], value: T): StageResult<T> =>
  faults.length === 0 ? pass(value) : { ok: false, faults }
