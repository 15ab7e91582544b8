import type { Json } from '@bulkhead/kit/json'
import type { ErrorClass, ErrorCode } from './errors.ts'
import type { Layer } from './names.ts'

/** The result of every call. Dialects are projections of it. */
export type Outcome = OutputOutcome | ErrorOutcome

export interface OutputOutcome {
  readonly type: 'output'
  readonly data: Json
  /** What a model sees instead of `data`, if the tool set it. */
  readonly content?: readonly Content[]
  /** For people and programs; never sent to a model. */
  readonly details?: Json
  readonly completion?: Completion
  readonly metadata: OutcomeMetadata
}

export interface ErrorOutcome {
  readonly type: 'error'
  /** For the model: what happened, to what, and what to do. */
  readonly error_text: string
  readonly error: OutcomeError
  readonly content?: readonly Content[]
  readonly details?: Json
  readonly completion?: Completion
  readonly metadata: OutcomeMetadata
}

export interface OutcomeError {
  readonly code: ErrorCode
  readonly class: ErrorClass
  readonly retryable: boolean
  readonly data?: Json
}

/** `data` and `blob` are base64. */
export type Content =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string }
  | { readonly type: 'audio'; readonly data: string; readonly mimeType: string }
  | EmbeddedResource
  | ResourceLink

/** A resource that is part of the result, as text or as bytes. */
export type EmbeddedResource =
  & { readonly type: 'resource'; readonly uri: string; readonly mimeType?: string }
  & ({ readonly text: string; readonly blob?: never } | { readonly blob: string; readonly text?: never })

/** A resource that the reader can request from the tool's server. */
export interface ResourceLink {
  readonly type: 'resource_link'
  readonly uri: string
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly mimeType?: string
}

export interface Completion {
  readonly terminal?: boolean
  readonly needsFollowup?: boolean
  readonly nextAction?: string
  readonly message?: string
}

export interface OutcomeMetadata {
  readonly call_id: string
  readonly tool: string
  /** null if no tool has that name. */
  readonly origin: OutcomeOrigin | null
  readonly duration_ms: number
  readonly attempt: number
  /** Set if a call with the same idempotency key has run before: this is the outcome of that call. */
  readonly replayed?: true
  readonly truncated?: boolean
  readonly output_path?: string
  /** Set if the file at `output_path` does not have everything. */
  readonly output_cut?: true
  readonly tokens_used?: number
  readonly child_loop_id?: string
}

export interface OutcomeOrigin {
  readonly layer: Layer
  readonly extension: string
  readonly version: string
  readonly digest: string
}

/** An outcome before the host adds its metadata. */
export type OutcomeBody = Omit<OutputOutcome, 'metadata'> | Omit<ErrorOutcome, 'metadata'>
