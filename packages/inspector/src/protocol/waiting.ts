import type { InteractionRequest } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'

/** `GET api/waiting`, and the event `waiting` whenever it changes. Oldest first. */
export interface WaitingView {
  readonly items: readonly WaitingItem[]
  /** More wait than are listed. */
  readonly more: number
}

export type WaitingItem = WaitingApproval | WaitingQuestion

interface Waiting {
  /** For `POST api/waiting/ID`. */
  readonly id: string
  /** Of all that is shown here. A decision names it, so that it counts for nothing else. */
  readonly digest: string
  readonly since: number
  /** Missing for questions outside of a session. */
  readonly session?: string
  readonly call?: string
  readonly principal?: string
  readonly agent?: string
  /** The host that asks. */
  readonly host: string
  /** Tools from the one that the model called to the one that asks, and sub-agents: "task", "bash". Outermost first. */
  readonly chain: readonly string[]
  /** It is stored: the call has ended, and goes on when a session resumes it with the answer. */
  readonly paused: boolean
  /** "Not now": until then it is neither counted nor shown in front. It still waits. */
  readonly laterUntil?: number
  /** Why this client cannot answer, in words: the inspector only reads, or the host takes no answers from here. */
  readonly unanswerable?: string
}

/** A call that needs the approval of a person. */
export interface WaitingApproval extends Waiting {
  readonly kind: 'approval'
  readonly tool: string
  readonly label: string
  /** read, safe_write, destructive, local or external. */
  readonly mode: string
  /** Who offers the tool: its layer, extension and version. */
  readonly origin: string
  /** The whole command, if the call runs one. */
  readonly command?: string
  /** A unified diff of the files that it would write. */
  readonly diff?: string
  /** The whole arguments as JSON text. */
  readonly argumentsText: string
  /** The same as data, if they may be edited. Edited arguments are checked and judged again. */
  readonly arguments?: JsonObject
  /** What a person is asked for, one line each. */
  readonly reasons: readonly string[]
  readonly touches: readonly string[]
  readonly mayTouch: readonly string[]
  /** Why undo could not put it back. */
  readonly notRecorded?: string
  /** What the publisher's key leaves out, so that answers for more than this call cover any value of it. */
  readonly leavesOut: readonly string[]
  /** The answers that allow, the one that covers the least first. Besides them: reject and later. */
  readonly answers: readonly WaitingAnswer[]
  /** A rule demands a passkey: no other answer allows the call. */
  readonly passkey?: true
}

/** One way to allow. */
export interface WaitingAnswer {
  readonly id: string
  /** Worded to follow "Allow": "this call", "this command for this session". */
  readonly words: string
  /** How long it lasts: this call, the session or task, or until it is revoked. */
  readonly lasts: 'call' | 'session' | 'always'
  /** It can be limited: to a time of day, or to a number of calls. */
  readonly limits: readonly ('until' | 'times')[]
  /** What it saves, exactly. */
  readonly rule?: RuleDraft
  /** Patterns that `rule` may have instead: each covers this call and no more than this answer does. The least first. */
  readonly narrower?: readonly string[]
}

export interface RuleDraft {
  /** As in a configuration: "bash". */
  readonly permission: string
  readonly pattern: string
  readonly action: 'allow' | 'ask' | 'deny'
  /** Where it would be saved. Not editable. */
  readonly file?: string
}

/** `POST api/waiting/ID/passkey` with the decision that will be sent: what the browser is asked for. */
export interface PasskeyDemand {
  /** Base64url. It stands for the call, the answer and a nonce. */
  readonly challenge: string
  readonly relyingParty: string
  /** Base64url. */
  readonly credentials: readonly string[]
}

/** A question of a tool or of the host. */
export interface WaitingQuestion extends Waiting {
  readonly kind: 'question'
  readonly from: string
  readonly request: Exclude<InteractionRequest, { readonly kind: 'Approve' | 'grantStageTool' }>
}

/** `POST api/waiting/ID`. The first answer counts; a later one is `AlreadyAnswered`. */
export type Decision =
  | (Decided & {
    readonly do: 'allow'
    /** The id of one of the answers. */
    readonly answer: string
    readonly until?: number
    readonly times?: number
    /** Instead of the one that was offered, with a pattern of `narrower`. */
    readonly rule?: Omit<RuleDraft, 'file'>
    /** Instead of those of the call, for an answer that lasts for one call. They are checked and judged again. */
    readonly arguments?: JsonObject
    /** What `toJSON()` of the browser's credential returns. */
    readonly passkey?: JsonObject
  })
  /** The reason is for the model. */
  | (Decided & { readonly do: 'reject'; readonly reason?: string })
  /** Not now. It is no denial: the question keeps waiting, and comes back after `minutes`. */
  | (Decided & { readonly do: 'later'; readonly minutes?: number })
  /** To a question: text, the chosen options, true or false, or the fields of a form. null: declined. */
  | (Decided & { readonly do: 'answer'; readonly value: Json })

interface Decided {
  readonly digest: string
}

export interface DecisionTaken {
  /** What happens now, in words: "The call runs." */
  readonly words: string
}
