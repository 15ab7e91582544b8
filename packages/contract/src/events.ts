import type { ErrorClass, ErrorCode } from './errors.ts'
import type { LifecyclePhase, LifecycleState } from './lifecycle.ts'
import type { Json } from '@bulkhead/kit/json'
import type { OutcomeOrigin } from './outcome.ts'

interface CallEvent {
  readonly sessionId: string
  readonly callId: string
  readonly tool: string
  readonly origin: OutcomeOrigin | null
}

interface ApprovalEvent {
  readonly approvalId: string
  readonly scope: 'session' | 'project'
  readonly tool: string
  readonly approvalKey: string
  readonly origin: OutcomeOrigin
}

/** Everything that happens, as one flat union. Dialects rename it; nothing else is emitted. */
export type BulkheadEvent = Stamped & (
  /** `parentCallId`: of the call whose tool makes this one. */
  | ({ readonly type: 'ToolInvocationProposed'; readonly args: Json; readonly parentCallId?: string } & CallEvent)
  | ({ readonly type: 'ToolInvocationDecided'; readonly decision: 'allow' | 'deny'; readonly stage: string; readonly source: string; readonly reason: string; readonly approvalKey: string; readonly args: Json } & CallEvent)
  /** Who may change a call has: `before` and `after` are the digests of its arguments, or of its result. */
  | ({ readonly type: 'ToolInvocationChanged'; readonly subject: 'arguments' | 'result'; readonly stage: string; readonly source: string; readonly reason: string; readonly before: string; readonly after: string } & CallEvent)
  | ({ readonly type: 'ToolInvocationStarted'; readonly attempt: number } & CallEvent)
  | ({ readonly type: 'ToolInvocationProgress'; readonly text: string } & CallEvent)
  | ({ readonly type: 'ToolInvocationUpdated'; readonly partial: Json } & CallEvent)
  | ({ readonly type: 'ToolInvocationSucceeded'; readonly durationMs: number } & CallEvent)
  | ({ readonly type: 'ToolInvocationFailed'; readonly durationMs: number; readonly errorClass: ErrorClass; readonly errorCode: ErrorCode; readonly message: string } & CallEvent)
  | ({ readonly type: 'ToolInvocationCancelled'; readonly durationMs: number; readonly attempt: number; readonly errorCode: ErrorCode; readonly reason: string } & CallEvent)
  | { readonly type: 'LifecyclePhaseStart'; readonly extensionId: string; readonly phase: LifecyclePhase }
  | { readonly type: 'LifecyclePhaseEnd'; readonly extensionId: string; readonly phase: LifecyclePhase; readonly durationMs: number; readonly ok: boolean; readonly errorCode: ErrorCode | null; readonly message: string }
  | { readonly type: 'LifecycleStateChanged'; readonly extensionId: string; readonly generation: number; readonly from: LifecycleState; readonly to: LifecycleState }
  | { readonly type: 'CompartmentEnded'; readonly extensionId: string; readonly errorCode: ErrorCode | null; readonly message: string }
  | { readonly type: 'ExtensionReloaded'; readonly extensionId: string; readonly generation: number }
  | { readonly type: 'ExtensionReloadRefused'; readonly extensionId: string; readonly reason: string }
  | { readonly type: 'ExtensionReloadFailed'; readonly extensionId: string; readonly errorCode: ErrorCode; readonly message: string }
  /** Something was added, removed or replaced: whoever shows a list of tools makes it anew. */
  | { readonly type: 'ToolsChanged' }
  | { readonly type: 'WorkspaceSwitched'; readonly from: string; readonly to: string }
  | { readonly type: 'ExtensionLog'; readonly extensionId: string; readonly level: 'debug' | 'info' | 'warn' | 'error'; readonly text: string; readonly callId: string | undefined; readonly code?: 'LogTruncated' }
  | { readonly type: 'InteractionRaised'; readonly correlationId: string; readonly kind: string; readonly source: string }
  | { readonly type: 'InteractionAnswered'; readonly correlationId: string; readonly status: 'accepted' | 'rejected' | 'timeout' }
  | ({ readonly type: 'ApprovalGranted'; readonly sessionId: string; readonly grantedBy: string; readonly expiresAt: string | null } & ApprovalEvent)
  | ({ readonly type: 'ApprovalExpired'; readonly expiresAt: string } & ApprovalEvent)
  | ({ readonly type: 'ApprovalRevoked'; readonly revokedBy: string } & ApprovalEvent)
  | { readonly type: 'TrustDecision'; readonly path: string; readonly decision: 'trusted' | 'declined' | 'once' }
  | { readonly type: 'StateSlotDrift'; readonly extensionId: string; readonly storedVersion: string; readonly currentVersion: string; readonly decision: 'migrate' | 'warn' | 'reject' }
  /** `workspace`: the folder that all its calls are about. */
  | { readonly type: 'SessionOpened'; readonly sessionId: string; readonly workspace: string; readonly parentId?: string }
  | { readonly type: 'SessionClosed'; readonly sessionId: string }
  | { readonly type: 'TurnBegan'; readonly sessionId: string; readonly turn: number }
  | { readonly type: 'TurnEnded'; readonly sessionId: string; readonly turn: number }
  | { readonly type: 'SuppressedError'; readonly source: string; readonly message: string }
)

interface Stamped {
  /** ISO 8601, from the host's clock. */
  readonly at: string
}

export type EventType = BulkheadEvent['type']
const TYPES: Readonly<Record<EventType, true>> = {
  ToolInvocationProposed: true, ToolInvocationDecided: true, ToolInvocationChanged: true, ToolInvocationStarted: true,
  ToolInvocationProgress: true, ToolInvocationUpdated: true, ToolInvocationSucceeded: true, ToolInvocationFailed: true,
  ToolInvocationCancelled: true, LifecyclePhaseStart: true, LifecyclePhaseEnd: true, LifecycleStateChanged: true,
  CompartmentEnded: true, ExtensionReloaded: true, ExtensionReloadRefused: true, ExtensionReloadFailed: true,
  ToolsChanged: true, WorkspaceSwitched: true, ExtensionLog: true, InteractionRaised: true, InteractionAnswered: true,
  ApprovalGranted: true, ApprovalExpired: true, ApprovalRevoked: true, TrustDecision: true, StateSlotDrift: true,
  SessionOpened: true, SessionClosed: true, TurnBegan: true, TurnEnded: true, SuppressedError: true,
}
/** Each of them, for who can be asked for one by its name. */
export const EVENT_TYPES = Object.freeze(Object.keys(TYPES)) as readonly EventType[]
export type EventOf<Type extends EventType> = Extract<BulkheadEvent, { readonly type: Type }>
type WithoutStamp<Event> = Event extends unknown ? Omit<Event, 'at'> : never
/** An event before the host has stamped it. */
export type EventBody = WithoutStamp<BulkheadEvent>
/** Contract: must not throw; one that does is reported as SuppressedError and stays subscribed. */
export type EventListener = (event: BulkheadEvent) => void
