import type { BulkheadError, CompartmentLoadRequest, Json, JsonObject, LifecyclePhase } from '@bulkhead/contract'

/** The code of an extension as the host reaches it, wherever it runs. Replies are not judged yet. */
export interface Peer {
  load(request: CompartmentLoadRequest): Promise<Json>
  lifecycle(phase: LifecyclePhase): Promise<unknown>
  execute(callId: string, tool: string, args: JsonObject): Promise<Json>
  deriveApprovalKey(tool: string, args: JsonObject): Promise<Json>
  abort(callId: string, reason: string): Promise<unknown>
  /** Settles once, never rejects, when nothing of it is left; with the reason when it was not told to end. */
  readonly ended: Promise<BulkheadError | undefined>
  /** Idempotent. */
  kill(): void
}
