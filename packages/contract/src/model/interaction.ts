import type { FormSchema } from '@bulkhead/kit/form'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { ToolKind, ToolMode } from './names.ts'
import type { PasskeyAssertion, PasskeyDemand } from './passkeys.ts'

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

/** Every question to a person. Tools and host have no other way to ask. */
export type InteractionRequest =
  | { readonly kind: 'Ask'; readonly prompt: string }
  | {
      readonly kind: 'Select'
      readonly prompt: string
      readonly options: readonly InteractionOption[]
      readonly multiple?: boolean
    }
  | { readonly kind: 'Confirm'; readonly prompt: string }
  /** Only for interactors that set `takesForms`. The answer is an object with the values of the fields. */
  | { readonly kind: 'Form'; readonly prompt: string; readonly schema: FormSchema; readonly name?: string }
  | { readonly kind: 'Approve'; readonly approval: ApprovalRequest }
  | { readonly kind: 'Auth.DeviceCode'; readonly url: string; readonly code: string; readonly expiresAt: string }
  | { readonly kind: 'Auth.Password'; readonly prompt: string }
  /** Grants one call; `approval` is what the person sees. */
  | {
      readonly kind: 'grantStageTool'
      readonly tool: string
      readonly stage: string
      readonly argsDigest: string
      readonly approval: ApprovalRequest
    }
  /** The answer is trusted, once, declined, or false for no decision. */
  | {
      readonly kind: 'trustProject'
      readonly path: string
      /** Why it is asked, then one line for each tool. */
      readonly summary: string
      readonly tools?: readonly ProjectTool[]
    }

/** A tool that a project brings. None of its code has run. */
export interface ProjectTool {
  readonly name: string
  readonly extension: string
  /** What it may do, in words. */
  readonly may: readonly string[]
  /** false: it declares that it needs no approval. */
  readonly gated: boolean
  /** What it takes the place of, in words. */
  readonly shadows?: string
}

export type InteractionKind = InteractionRequest['kind']

/** The kinds that a tool may use; the others belong to the host. */
export const TOOL_INTERACTION_KINDS = [
  'Ask', 'Select', 'Confirm', 'Form', 'Auth.DeviceCode', 'Auth.Password',
] as const satisfies readonly InteractionKind[]

export interface InteractionOption {
  readonly label: string
  readonly description?: string
}

/** One question per call. It combines all reasons for asking. */
export interface ApprovalRequest {
  /** The session of the call. */
  readonly sessionId: string
  readonly callId: string
  /** Who the session is for. */
  readonly principal?: Principal
  readonly tool: string
  readonly label: string
  /** How the tool acts, and how an editor shows the call. */
  readonly mode: ToolMode
  readonly kind: ToolKind
  /** The agent that the session is for. */
  readonly agent?: string
  readonly origin: string
  /** The chain of calling tools, starting with the one that the model called. Absent for a call by the model. */
  readonly calledBy?: readonly string[]
  readonly approvalKey: string
  /** The answers that allow the call, the one that covers the least first. Besides them: reject. */
  readonly answers: readonly OfferedAnswer[]
  /** The arguments that the key of a publisher leaves out: answers for more than this call cover any value of them. */
  readonly leavesOut?: readonly string[]
  /** Set if code of a third-party tool made the key. Such an approval lasts for the session at most. */
  readonly keyByTool?: true
  /** The complete arguments as JSON, with invisible characters escaped. */
  readonly argumentsText: string
  /**
   * A unified diff of the files that the call would write, as they are now, with invisible characters escaped and cut if
   * it is long. Absent if it is not known.
   */
  readonly diff?: string
  /** Why undo could not put back what commands of the call change. Absent if it could, or if there are none. */
  readonly notRecorded?: string
  /** What the call would touch according to its arguments, one line each. Empty if only the tool knows. */
  readonly touches: readonly string[]
  /** Everything the tool may touch, one line each. */
  readonly mayTouch: readonly string[]
  /** Why a person is asked, one line each. */
  readonly reasons: readonly string[]
  /** A rule demands a passkey: no answer without one allows the call. A denial needs none. */
  readonly passkey?: PasskeyDemand
}

/**
 * What an answer covers, from the least: this call; calls with this key, which for a file tool is this file; a folder;
 * the whole workspace.
 */
export const APPROVAL_COVERS = ['call', 'key', 'folder', 'workspace'] as const

/** One way to allow a call. */
export interface OfferedAnswer {
  readonly decision: 'once' | 'session' | 'project'
  readonly covers: (typeof APPROVAL_COVERS)[number]
  /** What it covers, worded to follow "allow". */
  readonly words: string
  /** The keys that the approval would have. Absent for one call. */
  readonly keys?: readonly string[]
  /** Keys that an answer may have instead: each covers this call and no more than this answer does. The least first. */
  readonly narrower?: readonly string[]
}

/** later: not now. It is not a denial. */
export const APPROVAL_ANSWERS = ['once', 'session', 'project', 'later', 'reject'] as const
/**
 * once: this call. session, project: this key, until the session ends or the approval expires or is revoked. A sub-agent
 * has a session for its task. later: the question stays open where others can answer it; else the call is paused.
 */
export interface ApprovalAnswer {
  readonly decision: (typeof APPROVAL_ANSWERS)[number]
  /** For session and project: one of those that were offered. Default, and in place of one that was not: the least. */
  readonly covers?: (typeof APPROVAL_COVERS)[number]
  /** For session and project: one of `narrower` of the chosen answer. In place of another one: the least answer. */
  readonly key?: string
  /** For session and project: it ends then, or sooner. ISO 8601 with a time zone. If it is over: this call only. */
  readonly until?: string
  /** For session and project: it allows this many calls, with this one. A whole number of at least 1. */
  readonly uses?: number
  /**
   * For once: the call runs with these arguments instead. The schema and all policies judge them again. What asks
   * about them besides what the person saw is asked.
   */
  readonly arguments?: JsonObject
  /** The model sees the reason of a rejection; the audit records the others. */
  readonly reason?: string
  /** Who answered, for the list of approvals. */
  readonly by?: string
}

export interface InteractionEnvelope {
  readonly correlationId: string
  readonly issuedAt: string
  readonly request: InteractionRequest
  /** Who asks: an extension or the host. With the chain of tools if other tools make the call. */
  readonly source: string
  /** The call that asks. Absent for an extension that asks while it starts, and for questions outside a session. */
  readonly callId?: string
  /** The session whose person is asked. Absent for questions outside a session. */
  readonly sessionId?: string
  readonly principal?: Principal
}

export type InteractionResponse =
  | {
      readonly status: 'accepted'; readonly value: Json
      /** For a question with `passkey`. */
      readonly passkey?: PasskeyAssertion
    }
  | { readonly status: 'rejected'; readonly reason?: string }
  | { readonly status: 'timeout' }
