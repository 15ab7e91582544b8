import type { BulkheadEvent } from '../../model/events.ts'
import type { Json } from '@bulkhead/kit/json'
import type { Outcome } from '../../model/outcome.ts'

/** What the other worlds put into an event and ours does not carry. Whoever has it at hand may add it. */
export interface EventContext {
  readonly args?: Json
  readonly outcome?: Outcome
}

export type CallEvent = Extract<BulkheadEvent, { readonly callId: string; readonly tool: string }>
