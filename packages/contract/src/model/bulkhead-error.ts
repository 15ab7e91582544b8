import { messageOf } from '@bulkhead/kit/error-message'
import type { Json } from '@bulkhead/kit/json'
import { findOptionFault, type OptionForms } from '@bulkhead/kit/options'
import { ERRORS, isErrorCode, type ErrorClass, type ErrorCode, type ErrorFault } from './errors.ts'
import type { Layer } from './names.ts'

const brand = Symbol.for('bulkhead.error')

/** The only error class of Bulkhead. Its code is a row of the error table, which gives class, fault and retryable. */
export class BulkheadError extends Error {
  override readonly name = 'BulkheadError'
  readonly code: ErrorCode
  /** Facts for programs: a path, a limit, a name. Plain data, safe to log and to send. */
  readonly data: Json | undefined

  constructor(code: ErrorCode, message: string, options: { readonly cause?: unknown; readonly data?: Json } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.code = code
    this.data = options.data
    Object.defineProperty(this, brand, { value: true })
  }

  get class(): ErrorClass {
    return ERRORS[this.code].class
  }

  get fault(): ErrorFault {
    return ERRORS[this.code].fault
  }

  get retryable(): boolean {
    return ERRORS[this.code].retryable
  }

  /** Unlike `instanceof`, also true for errors of another copy of this package. Contract: never throws. */
  static is(value: unknown): value is BulkheadError {
    try {
      if (typeof value !== 'object' || value === null || !(brand in value)) return false
      return isErrorCode((value as { code?: unknown }).code)
    } catch {
      // A foreign proxy or accessor threw.
      return false
    }
  }

  /** Wraps any thrown value. Contract: never throws, not even for hostile values. */
  static from(thrown: unknown, code: ErrorCode = 'InternalError'): BulkheadError {
    return BulkheadError.is(thrown) ? thrown : new BulkheadError(code, messageOf(thrown), { cause: thrown })
  }
}

/** Throws ConfigInvalid for the first invalid option of the function `called`. Options in `needed` are required. */
export function requireOptions<Options extends object>(
  called: string, options: Options, table: OptionForms<Options>, ...needed: readonly (keyof Options & string)[]
): void {
  const fault = findOptionFault(called, options, table, needed)
  if (fault) throw new BulkheadError('ConfigInvalid', fault.message, { data: { path: fault.path } })
}

/** The stages of loading an extension, in order. The first failure stops it. */
export const VALIDATION_STAGES = [
  'locate', 'trust', 'read', 'shape', 'contractVersion', 'requiredCoreVersion', 'configSchema', 'integrity',
  'signature', 'lock', 'register',
] as const
export type ValidationStage = (typeof VALIDATION_STAGES)[number]

/** Why something was disabled, or a warning: the stage, the place and the cure. */
export interface Diagnostic {
  readonly severity: 'error' | 'warning'
  readonly stage: ValidationStage
  readonly code: ErrorCode
  readonly layer: Layer
  /** null for a fault of the layer itself, such as its configuration. */
  readonly extensionId: string | null
  /** The folder or file, for people. */
  readonly location: string
  /** JSON Pointer inside the manifest or configuration. */
  readonly path: string
  readonly message: string
  readonly cure: string
  /** Set if an extension with the same id in a lower layer is used instead. */
  readonly fallbackTo?: Layer
}
