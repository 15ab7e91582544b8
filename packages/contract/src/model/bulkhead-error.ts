import type { ErrorClass, ErrorCode, ErrorFault } from './errors.ts'
import { ERRORS, isErrorCode } from './errors.ts'
import type { Json } from '@bulkhead/kit/json'
import { messageOf } from '@bulkhead/kit/error-message'
import { findOptionFault, type OptionForms } from '@bulkhead/kit/options'

const brand = Symbol.for('bulkhead.error')

/** The one error of Bulkhead. Its code is a row of the table; everything else about it follows from there. */
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

  /** True across copies of this package, which `instanceof` is not. Contract: never throws. */
  static is(value: unknown): value is BulkheadError {
    try {
      return typeof value === 'object' && value !== null && brand in value && isErrorCode((value as { code?: unknown }).code)
    } catch {
      // A proxy or an accessor of a stranger threw while it was being looked at.
      return false
    }
  }

  /** Whatever was thrown, as one of ours. Contract: never throws, not even for hostile values. */
  static from(thrown: unknown, code: ErrorCode = 'InternalError'): BulkheadError {
    return BulkheadError.is(thrown) ? thrown : new BulkheadError(code, messageOf(thrown), { cause: thrown })
  }
}

/** Throws ConfigInvalid for the first option that `called` cannot use. Those of `needed` must be there. */
export function requireOptions<Options extends object>(
  called: string, options: Options, table: OptionForms<Options>, ...needed: readonly (keyof Options & string)[]
): void {
  const fault = findOptionFault(called, options, table, needed)
  if (fault) throw new BulkheadError('ConfigInvalid', fault.message, { data: { path: fault.path } })
}
