import type {
  AgentManifest, DelegatingCall, Principal, ReaderContext, VariableValues, WorkspaceClient,
} from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { CallIds } from '../model/call-ids.ts'
import type { Hooks } from '../model/hooks.ts'
import type { SessionKeeper } from '../model/session-keeper.ts'
import type { SessionRecording } from '../records/session-recording.ts'
import type { SessionApprovals } from './approvals/session-approvals.ts'
import type { Interactions } from './interaction/interactions.ts'
import type { PausedCalls } from './interaction/paused-calls.ts'
import type { SessionPolicy } from './session-policy.ts'

/** A call that waits for another one, or for a session. */
export interface WaitingCall {
  /** Stops the time of it and of every call that waits for it. Returns the function that continues it. */
  pause(): () => void
  /** What the other one begins belongs to this one too. As `beginEffect` of `ToolInvocation`. */
  beginEffect(what: string): Promise<void> | undefined
}

/** The session of a call, as the steps see it. */
export interface SessionScope {
  readonly id: string
  /** Who it is for. */
  readonly principal: Principal | undefined
  /** An earlier session whose changes this one may undo. */
  readonly continues: string | undefined
  /** Of a sub-agent: the calls of `task` that led to it, the outermost first. */
  readonly delegatedBy: readonly DelegatingCall[]
  readonly agent: AgentManifest | undefined
  /** The values of the variables in requirements. */
  readonly variables: VariableValues
  /** Where readers of arguments look for the paths of a call. */
  readonly paths: ReaderContext
  readonly callIds: CallIds
  readonly policy: SessionPolicy
  readonly approvals: SessionApprovals
  readonly interactions: Interactions
  /** Stores questions that no one answers. Absent if such questions fail. */
  readonly paused: PausedCalls | undefined
  /** Stores a question while it is asked. Absent if no host could go on with the call. */
  readonly asking: PausedCalls | undefined
  readonly client: WorkspaceClient | undefined
  /** What extensions keep for the session, by layer and id. */
  readonly memory: Map<string, Json>
  readonly hooks: { readonly all: readonly Hooks[] }
  /** Stores the session, so that another host can continue it. Absent for sub-agents, and if nothing outlives the host. */
  readonly kept: SessionKeeper | undefined
  /** Keeps arguments and outcomes. Absent if the session is not recorded. */
  readonly recording: SessionRecording | undefined
  /** The call of `task` that waits for this session. */
  readonly waiting: WaitingCall | undefined
}
