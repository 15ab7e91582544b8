import type { Json, JsonObject } from '@bulkhead/kit/json'

/** waiting: for a person. denied: it never ran. unknown: its host ended before it settled. */
export type CallState = 'queued' | 'waiting' | 'running' | 'succeeded' | 'failed' | 'denied' | 'cancelled' | 'unknown'

/** One row of the timeline. */
export interface CallItem {
  /** Unique here: `SESSION/CALL`, both percent-encoded. For `GET api/calls/ID` and permalinks. */
  readonly id: string
  readonly session: string
  readonly call: string
  readonly host: string
  readonly tool: string
  /** "bundled bash 1.0.0"; null for an unknown tool. */
  readonly origin: string | null
  readonly principal?: string
  readonly agent?: string
  /** The id of the call whose tool made this one. */
  readonly parent?: string
  readonly state: CallState
  readonly at: number
  /** Until it settled. */
  readonly ms?: number
  /** How long people were waited for, of that. */
  readonly waitedMs?: number
  /** The command, file or host. */
  readonly subject: string
  /** What allowed or denied it, in words. */
  readonly by?: string
  /** Of its error. */
  readonly code?: string
  readonly message?: string
}

/** `GET api/calls?failed=1&tool=T&session=S&text=X&before=CURSOR&limit=N`. Newest first. */
export interface CallsView {
  readonly items: readonly CallItem[]
  /** For `before`: there are older ones. */
  readonly next?: string
  /** Sessions with calls or open now, for the filter. Latest first. */
  readonly sessions: readonly SessionItem[]
  readonly tools: readonly string[]
  /** How far back the list reaches, in words: "since this host started", "the audit since 3 May". */
  readonly reach: string
  readonly capture: CaptureState
}

export interface SessionItem {
  readonly id: string
  readonly host: string
  readonly workspace: string
  readonly principal?: string
  readonly agent?: string
  readonly parent?: string
  readonly open: boolean
  readonly since: number
}

/** `GET api/calls/SESSION/CALL` */
export interface CallDetail {
  readonly item: CallItem
  /** In order of their start. Depth 0 is the call itself. */
  readonly spans: readonly Span[]
  /** What happened, for people, one line each. */
  readonly story: readonly string[]
  /** The rules, modes, guards and people that decided, in order. */
  readonly decided: readonly DecidedBy[]
  /** The calls that its tool made. */
  readonly children: readonly CallItem[]
  readonly captured?: CapturedCall
  /** Set if the audit has it. */
  readonly audit?: AuditLink
}

/**
 * queue: it waits for a turn, a budget or a compartment. policy: rules, watchdogs and guards. person: people are waited for.
 * start: a compartment starts. run: an attempt of the tool. use: of a capability. call: a call that the tool made.
 * settle: after guards, and saving what is long.
 */
export type SpanKind = 'queue' | 'policy' | 'person' | 'start' | 'run' | 'use' | 'call' | 'settle'

export interface Span {
  readonly kind: SpanKind
  /** 0 for the parts of the call, 1 for what an attempt did. */
  readonly depth: number
  readonly words: string
  /** From the start of the call. */
  readonly fromMs: number
  /** Missing: it goes on, or its end is not known. */
  readonly ms?: number
  /** For use: fs.read, fs.write, net, shell, and so on. */
  readonly capability?: string
  /** For use: the path, the method and URL, or the command line. */
  readonly subject?: string
  readonly bytesRead?: number
  readonly bytesWritten?: number
  readonly failed?: true
  /** For call: the id of that call. */
  readonly callId?: string
}

export interface DecidedBy {
  readonly stage: string
  readonly action: string
  readonly source: string
  readonly reason: string
}

/**
 * `POST api/calls`. The same policy decides as about any other call, and the answer comes when the call has settled: a
 * person may be asked before.
 */
export interface MakeCall {
  readonly tool: string
  readonly arguments: JsonObject
  /** One that is open in the process of the inspector. Absent: a new one, which ends with the call. */
  readonly session?: string
  /** The id of the call: 1 to 64 letters, digits, `-` or `_`. Absent: a random one. */
  readonly call?: string
}

/** Answered by `POST api/calls`. */
export interface MadeCall {
  /** As in CallItem. */
  readonly id: string
  readonly succeeded: boolean
  /** The outcome as JSON, redacted and cut. It is not kept. */
  readonly outcome: string
  readonly cut: boolean
  /** Set if the host refused the arguments: a JSON pointer to the one that is wrong, missing or unknown, and why. */
  readonly wrong?: { readonly path: string; readonly message: string }
}

/** The link of a record in the hash chain of the audit. */
export interface AuditLink {
  readonly chain: string
  readonly position: number
  readonly link: string
}

/** Arguments and result, redacted and cut. Only with capture on. */
export interface CapturedCall {
  readonly arguments: string
  readonly result?: string
  readonly cut: boolean
}

export interface CaptureState {
  readonly on: boolean
  /** How many calls are kept at most, and how many are. */
  readonly limit: number
  readonly kept: number
}

/** `POST api/capture`. Off clears what was captured. Answers with a CaptureState. */
export interface CaptureChange {
  readonly on: boolean
}

/** `GET api/calls/SESSION/CALL/export`, as a file. */
export interface CallExport {
  readonly format: 'bulkhead-call/1'
  readonly exportedAt: string
  readonly item: CallItem
  readonly spans: readonly Span[]
  readonly decided: readonly DecidedBy[]
  readonly captured?: CapturedCall
  /** The records of the call as the audit has them, each with its link of the chain. */
  readonly audit: readonly (AuditLink & { readonly record: Json })[]
}
