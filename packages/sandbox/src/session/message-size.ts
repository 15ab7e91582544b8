import type { CompartmentLimits } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'

/** For a packet that the compartment should not have sent: one that keeps to the protocol says so to its own code instead. */
export const tooLarge = ({ messageBytes }: Pick<CompartmentLimits, 'messageBytes'>): BulkheadError => new BulkheadError(
  'MessageTooLarge',
  `The compartment sent more than ${messageBytes} bytes at once, and was killed. Raise its messageBytes if it needs as many.`,
  { data: { limit: 'messageBytes' } },
)
