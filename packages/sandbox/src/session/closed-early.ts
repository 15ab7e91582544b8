import { BulkheadError } from '@bulkhead/contract'

/** What those are told who still wait when a session is closed for no reason given. */
export const closedEarly = (): BulkheadError =>
  new BulkheadError('CompartmentKilled', 'The compartment was closed while it was still needed.')
