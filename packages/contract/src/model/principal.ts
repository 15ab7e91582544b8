import type { JsonObject } from '@bulkhead/kit/json'

/**
 * The user or client that a session is for. An embedder names it, or the token of a client does; a client never chooses
 * it. Approvals, session state and paused calls of one principal are not another's.
 */
export interface Principal {
  /** 1 to 200 characters, without control characters. */
  readonly id: string
  /** What hooks, guards and approvers see besides the id. Not in events and not in the audit. */
  readonly attributes?: JsonObject
}
