import type {
  CapabilityUse, ErrorCode, EventListener, EventType, InteractionRequest, JoinedHost, PasskeyAssertion,
} from '@bulkhead/contract'
import type { AuditChainReader } from '@bulkhead/contract/audit'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { AskedPasskey } from '../passkeys/demand.ts'
import type {
  CapturedCall, Frame, HealthView, InstallPreview, MakeCall, PolicyView, ToolInput, ToolsView, TriedCall, TryCall,
} from '../protocol.ts'

/** What the inspector sees of a host. `bulkhead` implements it. */
export interface Inspected {
  /** Of Bulkhead. */
  readonly version: string
  /** The name of the own host on the store. */
  readonly host: string
  readonly workspace: () => string
  /** store: the sessions of every host on the store are shown. */
  readonly scope: 'host' | 'store'
  on(listener: EventListener, types: readonly EventType[]): () => void
  /** Each use of a capability, while the returned function has not been called. */
  onUse(listener: (use: ObservedUse) => void): () => void
  /** Arguments and results of calls, redacted, while the returned function has not been called. */
  capture(listener: (call: CapturedOutcome) => void): () => void
  /** What another host on the store captured of a call, while capture is on. Rejects with StoreUnavailable. */
  capturedElsewhere(session: string, call: string): Promise<CapturedCall | undefined>
  readonly questions: QuestionSource
  /** The audits of the store. Empty if nothing outlives the host. Rejects with StoreUnavailable. */
  chains(): Promise<readonly AuditChainReader[]>
  /** Every host on the store. Rejects with StoreUnavailable. */
  hosts(): Promise<readonly JoinedHost[]>
  /** Throws NotFound for a session that is not open here. */
  tools(session: string | undefined): Promise<ToolsView>
  /** Throws NotFound. */
  toolInput(tool: string): ToolInput
  /** Resolves when the call has settled. Throws NotFound for a session that is not open here. */
  makeCall(call: MakeCall & { readonly call: string }): Promise<MadeOutcome>
  switchTool(session: string, tool: string, on: boolean): Promise<void>
  previewInstall(source: string): Promise<InstallPreview>
  policy(): Promise<PolicyView>
  tryCall(call: TryCall): Promise<TriedCall>
  health(): Promise<Omit<HealthView, 'series' | 'at'>>
  /** Messages of an MCP server, redacted and cut. undefined: they cannot be watched. */
  watchFrames(server: string, listener: (frame: Frame) => void): WatchedFrames | undefined
}

export interface WatchedFrames {
  /** The first messages of the present connection, also from before it was watched. */
  first(): readonly Frame[]
  stop(): void
}

/** One use of a capability, after it ended. */
export interface ObservedUse extends CapabilityUse {
  readonly session: string
  readonly call: string
  readonly ms: number
  readonly failed: boolean
  readonly bytesRead: number
  readonly bytesWritten: number
}

/** The outcome of a call that a person made by a form, redacted. */
export interface MadeOutcome {
  readonly session: string
  readonly result: Json
  /** Set if it failed. `path`: a pointer to the argument that is wrong. */
  readonly fault?: { readonly code: ErrorCode; readonly message: string; readonly path?: string }
}

export interface CapturedOutcome {
  readonly session: string
  readonly call: string
  readonly arguments: Json
  readonly result: Json
}

/** Questions that wait for people: in this process, and paused ones in the store. */
export interface QuestionSource {
  /** Oldest first. Rejects with StoreUnavailable. */
  list(): Promise<readonly OpenQuestion[]>
  /**
   * The first answer counts. `origin`: of the page that showed the question. Resolves with what happens now, in words.
   * Throws InteractionAlreadyAnswered or InputInvalid.
   */
  answer(question: OpenQuestion, answer: QuestionAnswer, by: string, origin: string): Promise<string>
  /** What the browser is asked for, if an answer needs a passkey. */
  passkey(question: OpenQuestion, value: Json): Promise<AskedPasskey | undefined>
  /** Called when a question begins to wait and when it ends. */
  onChange(listener: (change: QuestionChange) => void): () => void
}

export interface OpenQuestion {
  readonly id: string
  readonly since: number
  readonly host: string
  readonly session: string | undefined
  readonly call: string | undefined
  readonly principal: string | undefined
  readonly agent: string | undefined
  /** Who asks. */
  readonly source: string
  /** The round in which the same is asked, for questions in the store. */
  readonly round?: number
  /** undefined: another process has the question, and shows only that it waits. */
  readonly request: InteractionRequest | undefined
  readonly kind: string
  readonly paused: boolean
  /** Why it cannot be answered from here. */
  readonly unanswerable: string | undefined
  /** The arguments of the call, if they may be edited. */
  readonly arguments: JsonObject | undefined
  /** Whether an answer can have a limit. */
  readonly limits: boolean
}

export interface QuestionChange {
  readonly is: 'open' | 'closed'
  readonly session: string | undefined
  readonly call: string | undefined
}

/** As the host takes it: the value of an accepted answer, or a rejection. */
export type QuestionAnswer =
  | { readonly status: 'accepted'; readonly value: Json; readonly passkey?: PasskeyAssertion }
  | { readonly status: 'rejected'; readonly reason?: string }
