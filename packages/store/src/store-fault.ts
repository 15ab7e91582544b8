import { BulkheadError } from '@bulkhead/contract/plain'
import type { JsonObject } from '@bulkhead/kit/json'

/** Why a store is unavailable, as `data.reason` of the error. Programs branch on this, people read the message. */
export type StoreFaultReason =
  | 'closed'
  | 'refused-value'
  | 'damaged-record'
  | 'location'
  | 'link'
  | 'foreign'
  | 'newer'
  | 'corrupt'
  | 'full'
  | 'busy'
  | 'disk'

export interface StoreFaultDetails {
  readonly cause?: unknown
  readonly data?: JsonObject
}

export function storeFault(reason: StoreFaultReason, message: string, details: StoreFaultDetails = {}): BulkheadError {
  const data = { reason, ...details.data }
  return new BulkheadError('StoreUnavailable', message, 'cause' in details ? { cause: details.cause, data } : { data })
}

export const closedFault = (): BulkheadError => storeFault('closed', 'The store is closed. Open it again to go on using it.')
