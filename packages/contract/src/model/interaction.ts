import type { Json } from '@bulkhead/kit/json'

/** The only way anything in Bulkhead asks a person. One flat union; a tool never prompts by another way. */
export type InteractionRequest =
  | { readonly kind: 'Ask'; readonly prompt: string }
  | { readonly kind: 'Select'; readonly prompt: string; readonly options: readonly InteractionOption[]; readonly multiple?: boolean }
  | { readonly kind: 'Confirm'; readonly prompt: string }
  | { readonly kind: 'Approve'; readonly approval: ApprovalRequest }
  | { readonly kind: 'Auth.DeviceCode'; readonly url: string; readonly code: string; readonly expiresAt: string }
  | { readonly kind: 'Auth.Password'; readonly prompt: string }
  /** For this one call; `approval` is all that a person must see of it. */
  | { readonly kind: 'grantStageTool'; readonly tool: string; readonly stage: string; readonly argsDigest: string; readonly approval: ApprovalRequest }
  /** Answered with trusted, once, declined, or false for not now. */
  | { readonly kind: 'trustProject'; readonly path: string; readonly summary: string }

export const INTERACTION_KINDS = [
  'Ask', 'Select', 'Confirm', 'Approve', 'Auth.DeviceCode', 'Auth.Password', 'grantStageTool', 'trustProject',
] as const satisfies readonly InteractionRequest['kind'][]
export type InteractionKind = InteractionRequest['kind']

/** The kinds a tool may raise; the others belong to the host. */
export const TOOL_INTERACTION_KINDS = ['Ask', 'Select', 'Confirm', 'Auth.DeviceCode', 'Auth.Password'] as const satisfies readonly InteractionKind[]

export interface InteractionOption {
  readonly label: string
  readonly description?: string
}

/** One merged question per call: everything that wants a person's word is shown at once. */
export interface ApprovalRequest {
  readonly callId: string
  readonly tool: string
  readonly label: string
  readonly origin: string
  /** The tools that make the call, from the one the model called. Absent for a call of the model itself. */
  readonly calledBy?: readonly string[]
  readonly approvalKey: string
  /** Set where the tool's own code made the key, and it does not ship with the host: it is remembered for the session at most. */
  readonly keyByTool?: true
  /** Exactly the arguments, as JSON text with invisible characters made visible. Nothing is cut. */
  readonly argumentsText: string
  /** What the call would touch, as the host reads its arguments, one line each. Empty where only the tool knows. */
  readonly touches: readonly string[]
  /** All that the tool is able to touch, one line each. */
  readonly mayTouch: readonly string[]
  /** Why a person is asked, one line each. */
  readonly reasons: readonly string[]
}

export const APPROVAL_ANSWERS = ['once', 'session', 'project', 'reject'] as const
/** once: this call. session, project: this key until the session ends, or the approval expires or is revoked. */
export interface ApprovalAnswer {
  readonly decision: (typeof APPROVAL_ANSWERS)[number]
  /** Why. Of a reject it reaches the model; of the others the audit. */
  readonly reason?: string
  /** Who answered, for whoever looks at the approval later. */
  readonly by?: string
}

export interface InteractionEnvelope {
  readonly correlationId: string
  readonly issuedAt: string
  readonly request: InteractionRequest
  /** Who asks, for the person: an extension or the host itself. */
  readonly source: string
  /** The call on whose behalf it is asked. Absent where an extension asks while it starts, and of what is asked of no session. */
  readonly callId?: string
}

export type InteractionResponse =
  | { readonly status: 'accepted'; readonly value: Json }
  | { readonly status: 'rejected'; readonly reason?: string }
  | { readonly status: 'timeout' }
