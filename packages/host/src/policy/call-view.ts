import type { CallEffects, CallNeed } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import type { ToolEntry } from '../extensions/registry/tool-entry.ts'
import type { CallView } from '../model/call.ts'
import type { Verdict } from './verdict.ts'

/** What a policy sees of a call whose arguments are validated. It sees no session, so no policy depends on another. */
export interface CheckedCall {
  readonly id: string
  readonly session: { readonly id: string }
  readonly tool: ToolEntry
  readonly args: JsonObject
  readonly signal: AbortSignal
  throwIfCancelled(): void
}

export const viewOf = (call: CheckedCall, approvalKey: string): CallView => ({
  sessionId: call.session.id, callId: call.id, tool: call.tool.definition, origin: call.tool.origin, args: call.args, approvalKey,
})

/** One thing a call would do: what an approval of it stands for, and the other names that may forbid it. */
export interface Subject {
  readonly key: string
  readonly names?: readonly string[]
  /** Wider keys, from the nearest: an approval of one of these is one of this too. */
  readonly within?: readonly string[]
}

/** What a call stands for. */
export interface CallMeaning {
  /** Of the whole call. */
  readonly approvalKey: string
  /** All of which must be allowed where it is not the whole that was approved. */
  readonly subjects: readonly Subject[]
  /** What reading the arguments already says of it. */
  readonly verdicts: readonly Verdict[]
  /** What it would touch, one line each. Empty where only the tool knows. */
  readonly touches: readonly string[]
  /** It does nothing but read inside the workspace: whatever asks because of the tool alone does not ask. */
  readonly onlyReads?: true
  /** Code that does not ship with the host made the key: it is remembered for the session at most. */
  readonly keyByTool?: true
  /** What it is known to need; absent where only the tool knows. */
  readonly needs?: readonly CallNeed[]
  /** What it would do with files and the network, links followed. Looked for when a rule wants to know. */
  readonly effects?: () => CallEffects
}

export const meaningByKey = (approvalKey: string): CallMeaning =>
  ({ approvalKey, subjects: [{ key: approvalKey }], verdicts: [], touches: [] })
