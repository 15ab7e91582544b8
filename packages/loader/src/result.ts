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

/** What a stage returns. Contract: a stage never throws for what it is shown. */
export interface Passed<T> {
  readonly ok: true
  readonly value: T
  readonly warnings: readonly Fault[]
}

export type StageResult<T> =
  | Passed<T>
  | { readonly ok: false; readonly faults: readonly Fault[] }

export const pass = <T>(value: T, warnings: readonly Fault[] = []): Passed<T> => ({ ok: true, value, warnings })
export const refuse = (...faults: readonly [Fault, ...Fault[]]): StageResult<never> => ({ ok: false, faults })

/** Hands what one stage has made to the next. A refusal goes straight to the end. */
export function next<From, To>(result: StageResult<From>, stage: (value: From) => StageResult<To>): StageResult<To> {
  if (!result.ok) return result
  const following = stage(result.value)
  return following.ok ? pass(following.value, [...result.warnings, ...following.warnings]) : following
}

export async function nextAsync<From, To>(
  result: StageResult<From>, stage: (value: From) => Promise<StageResult<To>>,
): Promise<StageResult<To>> {
  if (!result.ok) return result
  const following = await stage(result.value)
  return next(result, () => following)
}

/** For checks that look at everything before they answer. */
export const passUnless = <T>(faults: readonly Fault[], value: T): StageResult<T> =>
  faults.length === 0 ? pass(value) : { ok: false, faults }
