import type { Outcome } from '@bulkhead/contract'
import type { CallView } from './call.ts'

/** What an embedder may hang onto each call. */
export interface Hooks {
  /** false skips the call, and so does a throw: whoever may veto and fails to judge has not agreed. */
  beforeToolExecution?(call: CallView, signal: AbortSignal): boolean | void | Promise<boolean | void>
  /** Told, not waited for. A throw is reported as SuppressedError. */
  afterToolExecution?(call: CallView, outcome: Outcome): void | Promise<void>
}
