import type { ErrorClass, ErrorCode } from './errors.ts'
import type { Json } from '@bulkhead/kit/json'
import type { Layer } from './names.ts'

/** The one shape of every result. All other shapes are projections of it. */
export type Outcome = OutputOutcome | ErrorOutcome

export interface OutputOutcome {
  readonly type: 'output'
  readonly data: Json
  /** What a model is shown instead of `data`, where the tool said so. */
  readonly content?: readonly Content[]
  /** For people and programs; never sent to a model. */
  readonly details?: Json
  readonly completion?: Completion
  readonly metadata: OutcomeMetadata
}

export interface ErrorOutcome {
  readonly type: 'error'
  /** For the model: what happened, where, what to do. */
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

export type Content =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string }

export interface Completion {
  readonly terminal?: boolean
  readonly needsFollowup?: boolean
  readonly nextAction?: string
  readonly message?: string
}

export interface OutcomeMetadata {
  readonly call_id: string
  readonly tool: string
  /** null when no tool of that name exists. */
  readonly origin: OutcomeOrigin | null
  readonly duration_ms: number
  readonly attempt: number
  readonly truncated?: boolean
  readonly output_path?: string
  readonly tokens_used?: number
  readonly child_loop_id?: string
}

export interface OutcomeOrigin {
  readonly layer: Layer
  readonly extension: string
  readonly version: string
  readonly digest: string
}

/** An outcome before the host has added where it came from and how long it took. */
export type OutcomeBody = Omit<OutputOutcome, 'metadata'> | Omit<ErrorOutcome, 'metadata'>
