import type { ErrorCode, ValidationStage } from '@bulkhead/contract'

/** One problem, as a stage reports it. A stage does not know the layer or the folder. */
export interface Fault {
  readonly stage: ValidationStage
  readonly code: ErrorCode
  /** JSON Pointer in the manifest, the configuration or `file`. */
  readonly path: string
  readonly message: string
  /** Replaces the cure of the error table where a better one is known. */
  readonly cure?: string
  /** The file at fault, relative to the folder of the extension. */
  readonly file?: string
  /** The absolute path at fault, where it is outside the folder of the extension. */
  readonly location?: string
}

/** The most faults that are reported at once. */
export const MAX_FAULTS = 20

/** Contract: a stage never throws because of its input. */
export type StageResult<T> = Passed<T> | { readonly ok: false; readonly faults: readonly Fault[] }

export interface Passed<T> {
  readonly ok: true
  readonly value: T
  readonly warnings: readonly Fault[]
}

const NO_FAULTS: readonly Fault[] = Object.freeze([])

export const pass = <T>(value: T, warnings = NO_FAULTS): Passed<T> => ({ ok: true, value, warnings })
export const refuse = (...faults: readonly [Fault, ...Fault[]]): StageResult<never> => ({ ok: false, faults })
export const passUnless = <T>(faults: readonly Fault[], value: T): StageResult<T> =>
  faults.length === 0 ? pass(value) : { ok: false, faults }

/** Runs the next stage on the value of a passed one, and keeps the warnings of both. A refusal is returned as it is. */
export function next<From, To>(result: StageResult<From>, stage: (value: From) => StageResult<To>): StageResult<To> {
  return result.ok ? withWarnings(result.warnings, stage(result.value)) : result
}

export async function nextAsync<From, To>(
  result: StageResult<From>, stage: (value: From) => Promise<StageResult<To>>,
): Promise<StageResult<To>> {
  return result.ok ? withWarnings(result.warnings, await stage(result.value)) : result
}

const withWarnings = <T>(earlier: readonly Fault[], result: StageResult<T>): StageResult<T> =>
  !result.ok || earlier.length === 0 ? result : pass(result.value, [...earlier, ...result.warnings])
