import { BulkheadError } from '@bulkhead/contract'

/** For what was never sent: it can be put to the next compartment of the extension. */
export const compartmentGone = (extension: string, reason: BulkheadError | undefined): BulkheadError => new BulkheadError(
  'CompartmentGone', `The compartment of ${extension} ended before the call was sent to it.`, { cause: reason },
)

export const isCompartmentGone = (error: unknown): boolean => BulkheadError.is(error) && error.code === 'CompartmentGone'
