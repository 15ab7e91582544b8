import type { OutcomeOrigin, ToolDefinition } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'

/** A call as watchdogs, guards and hooks are shown it. */
export interface CallView {
  readonly sessionId: string
  readonly callId: string
  readonly tool: ToolDefinition
  readonly origin: OutcomeOrigin
  readonly args: JsonObject
  readonly approvalKey: string
}

/** A call as the journal records it. */
export interface JournalledCall {
  readonly id: string
  readonly name: string
  readonly session: { readonly id: string }
  readonly tool: { readonly origin: OutcomeOrigin }
}
