import type { BulkheadError, CompartmentLoadRequest, Json, JsonObject, LifecyclePhase } from '@bulkhead/contract'

/** The code of an extension as the host reaches it, wherever it runs. Replies are not judged yet, and may never come. */
export interface Peer {
  load(request: CompartmentLoadRequest): Promise<Json>
  lifecycle(phase: LifecyclePhase): Promise<unknown>
  execute(callId: string, tool: string, args: JsonObject): Promise<Json>
  deriveApprovalKey(tool: string, args: JsonObject): Promise<Json>
  abort(callId: string, reason: string): Promise<unknown>
  /** Whether code that does not end by itself can be ended. */
  readonly killable: boolean
  /** Settles once, never rejects, as soon as it is of no more use: with the reason, or without when it was told to end. */
  readonly ended: Promise<BulkheadError | undefined>
  /** Settles once, never rejects, when nothing of it is left. */
  readonly gone: Promise<void>
  /** Idempotent. */
  kill(): void
}
