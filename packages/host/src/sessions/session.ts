import type { Outcome, ToolDefinition } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { Approval } from '../policy/approvals/approval.ts'
import type { Explanation } from '../calls/explain.ts'
import type { Hooks } from '../model/hooks.ts'
import type { CallOptions, ToolCall } from '../calls/receive.ts'
import type { CancelReason } from '../model/cancel-scope.ts'
import type { SubagentOptions } from './session-options.ts'
import type { ExecutionStrategy, Steering } from './strategy.ts'
import type { Turn } from './turn.ts'

export interface CallAllOptions extends CallOptions {
  /** Default: the session's. */
  readonly strategy?: ExecutionStrategy
  readonly steering?: Steering
}

export interface Session {
  readonly id: string
  /** 0 for one that the host opened, and one more with each sub-agent. */
  readonly depth: number
  /** Those of the turn; outside of one, the present ones. */
  tools(): readonly ToolDefinition[]
  /** Contract: never rejects. Every call ends in exactly one outcome. */
  call(call: ToolCall, options?: CallOptions): Promise<Outcome>
  /** What people approved of that calls of this session are answered by: its own approvals and those of its project. */
  approvals(): readonly Approval[]
  /** Whether a call would be allowed, and why. Asks no person and runs nothing. Contract: never rejects. */
  explain(call: ToolCall): Promise<Explanation>
  /** Hangs more hooks onto the calls of this session and of its sub-agents. Returns what takes them away again. Throws ConfigInvalid. */
  addHooks(hooks: Hooks): () => void
  /**
   * The calls of one response: everything that needs a person's word is asked first, in their order; then they run by the
   * strategy. Outcomes come in their order, one for each. Rejects only for a list or a strategy that is none.
   */
  callAll(calls: readonly ToolCall[], options?: CallAllOptions): Promise<readonly Outcome[]>
  /**
   * Resumes a paused call under the policy of this session: it runs again and receives the same answers as before.
   * The answer may be left out where it was given before. Rejects with NotFound, InteractionAlreadyAnswered, InputInvalid or
   * StoreUnavailable, and then nothing has changed.
   */
  resume(id: string, answer?: Json, options?: CallOptions): Promise<Outcome>
  /** Fixes what is offered until `endTurn`. Throws TurnInvalid inside of another turn, and ConfigInvalid. */
  beginTurn(options?: { readonly signal?: AbortSignal }): Turn
  /** Resolves when the calls of the turn have settled. Rejects with TurnInvalid when there is none. */
  endTurn(): Promise<void>
  /**
   * A session for a sub-agent, which can do no more than this one: it lives under both policies, draws from both budgets,
   * asks the same person unless it brings its own, and ends with this one, and with its turn. Rejects with
   * SubagentDepthExceeded five deep, and as `openSession` does.
   */
  openSubagent(options?: SubagentOptions): Promise<Session>
  /** Ends its turn, its calls and its sub-agents, and refuses what is to come. */
  cancel(reason?: CancelReason): void
  /** Cancels what runs and resolves when it has settled. Idempotent. */
  close(): Promise<void>
}
