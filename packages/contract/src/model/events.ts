import type { ErrorClass, ErrorCode } from './errors.ts'
import type { LifecyclePhase, LifecycleState } from './lifecycle.ts'
import type { Json } from '@bulkhead/kit/json'
import type { OfferedAnswer } from './interaction.ts'
import type { RuleCapability } from './names.ts'
import type { OutcomeOrigin } from './outcome.ts'
import type { PasskeyProof } from './passkeys.ts'

interface CallEvent {
  readonly sessionId: string
  readonly principal?: string
  readonly callId: string
  readonly tool: string
  readonly origin: OutcomeOrigin | null
}

/** What is known of a call when it ends. `began`: what it began that can have an effect, in words. */
interface CallEnd {
  readonly durationMs: number
  /** The last attempt. Absent if its host ended first. */
  readonly attempt?: number
  readonly began?: readonly string[]
  /** What its time went to, in order, without what took less than half a millisecond. Absent for a call that took less than five. */
  readonly phases?: readonly CallPhase[]
  /** The first uses of capabilities, in the order in which they ended. Absent: none, or no one wanted to know. */
  readonly uses?: readonly EndedUse[]
  /** How many more there were. */
  readonly moreUses?: number
  /** It did not run: this is the recorded outcome of an earlier call. */
  readonly replayed?: true
}

/** A question. The call and its session, if a call asks. */
interface QuestionEvent {
  readonly correlationId: string
  readonly sessionId?: string
  readonly callId?: string
}

interface ApprovalEvent {
  readonly approvalId: string
  readonly scope: 'session' | 'project'
  readonly tool: string
  readonly approvalKey: string
  readonly origin: OutcomeOrigin
  readonly principal?: string
}

/** All events, as one flat union. Dialects are projections of it. */
export type BulkheadEvent = Stamped & (
  | ({
      readonly type: 'ToolInvocationProposed'; readonly arguments: Json
      /** @deprecated Use `arguments`. */
      readonly args: Json
      readonly parentCallId?: string; readonly program?: string
    } & CallEvent)
  | ({
      readonly type: 'ToolInvocationDecided'; readonly decision: 'allow' | 'deny'; readonly stage: string
      readonly source: string; readonly reason: string; readonly approvalKey: string; readonly arguments: Json
      /** @deprecated Use `arguments`. */
      readonly args: Json
      readonly parentCallId?: string; readonly program?: string; readonly use?: RuleCapability
    } & CallEvent)
  | ({
      readonly type: 'ToolInvocationChanged'; readonly subject: 'arguments' | 'result'; readonly stage: string
      readonly source: string; readonly reason: string; readonly before: string; readonly after: string
    } & CallEvent)
  | ({ readonly type: 'ToolInvocationStarted'; readonly attempt: number } & CallEvent)
  | ({ readonly type: 'ToolInvocationProgress'; readonly text: string } & CallEvent)
  | ({ readonly type: 'ToolInvocationUpdated'; readonly partial: Json } & CallEvent)
  | ({ readonly type: 'ToolInvocationSucceeded'; readonly resultChars?: number } & CallEnd & CallEvent)
  | ({
      readonly type: 'ToolInvocationFailed'; readonly errorClass: ErrorClass; readonly errorCode: ErrorCode
      readonly message: string
    } & CallEnd & CallEvent)
  | ({
      readonly type: 'ToolInvocationCancelled'; readonly attempt: number; readonly errorCode: ErrorCode
      readonly reason: string
    } & CallEnd & CallEvent)
  | { readonly type: 'LifecyclePhaseStart'; readonly extensionId: string; readonly phase: LifecyclePhase }
  | {
      readonly type: 'LifecyclePhaseEnd'; readonly extensionId: string; readonly phase: LifecyclePhase
      readonly durationMs: number; readonly ok: boolean; readonly errorCode: ErrorCode | null; readonly message: string
    }
  | {
      readonly type: 'LifecycleStateChanged'; readonly extensionId: string; readonly generation: number
      readonly from: LifecycleState; readonly to: LifecycleState
    }
  | {
      readonly type: 'CompartmentEnded'; readonly extensionId: string; readonly errorCode: ErrorCode | null
      readonly message: string
    }
  | { readonly type: 'ExtensionReloaded'; readonly extensionId: string; readonly generation: number }
  | { readonly type: 'ExtensionReloadRefused'; readonly extensionId: string; readonly reason: string }
  | {
      readonly type: 'ExtensionReloadFailed'; readonly extensionId: string; readonly errorCode: ErrorCode
      readonly message: string
    }
  | { readonly type: 'ToolsChanged' }
  | {
      readonly type: 'ServerStartFailed'; readonly server: string; readonly extensionId: string
      readonly errorCode: ErrorCode; readonly message: string
    }
  | {
      readonly type: 'KeyUsed'; readonly extensionId: string; readonly key: string; readonly host: string
      readonly method: string; readonly path: string; readonly sessionId?: string; readonly principal?: string
      readonly callId?: string
    }
  | {
      readonly type: 'KeyRefused'; readonly extensionId: string; readonly key: string; readonly host: string
      readonly method: string; readonly path: string; readonly reason: string; readonly sessionId?: string
      readonly principal?: string; readonly callId?: string
    }
  | { readonly type: 'WorkspaceSwitched'; readonly from: string; readonly to: string }
  | {
      readonly type: 'ExtensionLog'; readonly extensionId: string; readonly level: 'debug' | 'info' | 'warn' | 'error'
      readonly text: string; readonly callId: string | undefined; readonly code?: 'LogTruncated'
    }
  | ({ readonly type: 'InteractionRaised'; readonly kind: string; readonly source: string } & QuestionEvent)
  | ({
      readonly type: 'InteractionAnswered'; readonly status: 'accepted' | 'rejected' | 'timeout'; readonly by?: string
      readonly passkey?: PasskeyProof
    } & QuestionEvent)
  | {
      readonly type: 'BlockedOnPerson'; readonly correlationId: string; readonly sessionId: string
      readonly callId: string; readonly principal?: string; readonly tool: string; readonly approvalKey: string
      readonly reasons: readonly string[]; readonly answers: readonly OfferedAnswer[]
    }
  | ({
      readonly type: 'ApprovalGranted'; readonly sessionId: string; readonly grantedBy: string
      readonly expiresAt: string | null
      /** How many calls it allows, with this one. Absent: any number. */
      readonly maxUses?: number
    } & ApprovalEvent)
  | ({ readonly type: 'ApprovalExpired'; readonly expiresAt: string } & ApprovalEvent)
  | ({ readonly type: 'ApprovalRevoked'; readonly revokedBy: string } & ApprovalEvent)
  | { readonly type: 'TrustDecision'; readonly path: string; readonly decision: 'trusted' | 'declined' | 'once' }
  | {
      readonly type: 'StateSlotDrift'; readonly extensionId: string; readonly storedVersion: string
      readonly currentVersion: string; readonly decision: 'migrate' | 'warn' | 'reject'
    }
  | {
      readonly type: 'SessionOpened'; readonly sessionId: string; readonly workspace: string; readonly parentId?: string
      readonly agent?: string; readonly principal?: string
    }
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
/** What each event means. docs/reference/events.md is generated from this table and from the union above. */
export const EVENT_MEANINGS: Readonly<Record<EventType, string>> = Object.freeze({
  ToolInvocationProposed:
    'A call was received. `parentCallId` is the call whose tool made this one; `program` is the same call if that tool '
    + 'is `code_mode`.',
  ToolInvocationDecided:
    'A call was allowed or denied, or something that it uses while it runs: then `use` is the capability and '
    + '`approvalKey` names what it uses. `stage` and `source` name the rule, mode, guard or person that decided. '
    + '`parentCallId` is the call whose tool made this one; `program` is the same call if that tool is `code_mode`.',
  ToolInvocationChanged: 'A watchdog or guard replaced the arguments or the result. `before` and `after` are digests.',
  ToolInvocationStarted: 'An attempt begins. Attempt 0 means that the call was skipped because of a user message.',
  ToolInvocationProgress: 'The tool called `runtime.progress`.',
  ToolInvocationUpdated: 'The tool called `runtime.update`.',
  ToolInvocationSucceeded:
    'The call ended with output. `resultChars` is about the length of the result as JSON; `began` is what the call began '
    + 'that can have an effect; `phases` is what its time went to, and `uses` are the first 32 uses of capabilities. `replayed`: nothing ran, and it is the recorded outcome of an earlier call.',
  ToolInvocationFailed: 'The call ran and ended with an error. `replayed`: an earlier call did, and this is its recorded outcome.',
  ToolInvocationCancelled: 'The call was denied, vetoed, skipped or cancelled.',
  LifecyclePhaseStart: 'A lifecycle phase of an extension begins.',
  LifecyclePhaseEnd: 'A lifecycle phase of an extension ended.',
  LifecycleStateChanged: 'An extension changed its lifecycle state.',
  CompartmentEnded: 'A compartment ended. `errorCode` is null if it was stopped on purpose.',
  ExtensionReloaded: 'A new generation of an extension took over.',
  ExtensionReloadRefused: 'An extension declares that it is never reloaded.',
  ExtensionReloadFailed: 'A new generation could not be loaded; the old one continues.',
  ToolsChanged: 'A tool was added, removed or replaced. Update any list of tools you show.',
  ServerStartFailed:
    'An MCP server could not be started or reached. `host.diagnostics` has it until an attempt succeeds; the next call '
    + 'tries again.',
  KeyUsed: 
    'A local server or a command sent a request, and the host sent a key with it. `key` is its name. For a command, '
    + '`callId` is its call.',
  KeyRefused:
    'A local server or a command sent the placeholder of a key to another place than the key is for. The key was not '
    + 'sent. Each kind of place is reported once for a start.',
  WorkspaceSwitched: 'The host works in another folder.',
  ExtensionLog: 'An extension logged a line.',
  InteractionRaised: 'A question to a person was raised.',
  BlockedOnPerson:
    'A call waits for a person. `answers` are those that allow it, the least first; besides them a person can reject it or '
    + 'say "not now". It is over with `InteractionAnswered` of the same `correlationId`.',
  InteractionAnswered: 'A question to a person was answered, by `by` if that is known, or timed out. `passkey`: a rule demanded one, and this '
    + 'signature allowed the call.',
  ApprovalGranted: 'A person approved a tool and key for a session or a project.',
  ApprovalExpired: 'An approval reached its end, or has allowed as many calls as it may.',
  ApprovalRevoked: 'An approval was revoked.',
  TrustDecision: 'The host decided whether to use the layer of a project.',
  StateSlotDrift: 'Stored state has another version than the extension declares.',
  SessionOpened:
    'A session was opened. `workspace` is the folder of its calls; `parentId` is set for a sub-agent, `agent` is the name '
    + 'of the agent that it is for, `principal` is the id of the user or client.',
  SessionClosed: 'A session was closed.',
  TurnBegan: 'A turn began.',
  TurnEnded: 'A turn ended and all its calls have settled.',
  SuppressedError: 'An error that no call caused: a hook, a listener or the store failed.',
})
/** Every event type, to validate names. */
export const EVENT_TYPES = Object.freeze(Object.keys(EVENT_MEANINGS)) as readonly EventType[]
export type EventOf<Type extends EventType> = Extract<BulkheadEvent, { readonly type: Type }>
type WithoutStamp<Event> = Event extends unknown ? Omit<Event, 'at'> : never
/** An event before the host has stamped it. */
export type EventBody = WithoutStamp<BulkheadEvent>
/** Contract: must not throw; one that does is reported as SuppressedError and stays subscribed. */
export type EventListener = (event: BulkheadEvent) => void

/** What a call did at a time: rules and guards, waiting for a person, its turn, the start of its compartment, its tool, its end. */
type PhaseKind = 'policy' | 'person' | 'queue' | 'start' | 'run' | 'settle'

/** Times are milliseconds from the start of the call. */
export interface CallPhase {
  readonly kind: PhaseKind
  readonly fromMs: number
  readonly ms: number
}

/** One use of a capability by a call, after it ended. */
export interface EndedUse {
  /** A part of `runtime`, such as `fs.read`. */
  readonly part: string
  /** The path, the method and URL, the command line, or the name of what was used. */
  readonly subject: string
  readonly fromMs: number
  readonly ms: number
  readonly readBytes?: number
  readonly writtenBytes?: number
  readonly failed?: true
}

/** A line that a running tool logs. */
export interface CallLog {
  /** The id of the call, or of a call that its tool makes. */
  readonly callId: string
  readonly tool: string
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly text: string
}

/** What a running tool reports before its outcome: a message or a partial result. */
export interface CallProgress {
  /** The id of the call, or of a call that its tool makes. */
  readonly callId: string
  readonly tool: string
  /** Of `runtime.progress`. */
  readonly text?: string
  /** Of `runtime.update`. Frozen. */
  readonly partial?: Json
}
