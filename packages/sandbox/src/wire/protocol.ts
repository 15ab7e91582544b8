/**
 * Everything that crosses between the host and a compartment. Types only: nothing here exists at run time.
 *
 * Over the channel run packets. A packet holds one message, or a list of messages, as JSON. Long strings travel beside
 * the JSON and are put back by their paths. There are two channels: on `call` the host sends requests, on `broker` the
 * compartment does, so neither side can answer a request with a request.
 */
import type { MessagePort, WorkerOptions } from 'node:worker_threads'
import type { CompartmentLimits, LifecyclePhase, RuntimePart } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'

/** One JSON string; or a list of that string and the long strings taken out of it. */
export type Packet = string | readonly string[]

/** A tuple instead of Comlink's named fields, which cost a third of a short call to write and read. */
export type Message = Request | Value | Failure
export type Request =
  readonly [kind: number, id: number, method: string, args: readonly Json[], holes?: readonly Path[]]
export type Value = readonly [kind: number, id: number, value: Json, holes?: readonly Path[]]
export type Failure = readonly [kind: number, id: number, error: WireError, holes?: readonly Path[]]

/** The keys and indexes from a value to a long string in it. `null` stands there until the string is put back. */
export type Path = readonly (string | number)[]

/** An error as data. */
export interface WireError {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly data?: Json
  readonly stack?: string
  readonly cause?: WireError
}

/** Of a call. In the thread of the host a function, because few calls read their key, and it takes a hash. */
export type CallKey = string | (() => string | undefined)

/** What the host can request of a compartment. The compartment can request the `BROKER_METHODS` of the contract. */
export interface CompartmentMethods {
  load(request: LoadRequest): LoadReply
  lifecycle(phase: LifecyclePhase): void
  /**
   * `env`: the variables that the call may read, if the code of the extension names `process`. `reverts`: the result of
   * an earlier call that the tool reverts. `key`: the idempotency key, if the code names it.
   */
  execute(
    callId: string, tool: string, args: JsonObject, env?: Variables | null, reverts?: Reverts | null, key?: CallKey,
  ): Json
  deriveApprovalKey(tool: string, args: JsonObject): Json
  migrateState(slotVersion: string, data: Json): Json
  abort(callId: string, reason: string): void
}

export type Variables = Readonly<Record<string, string>>
export type Reverts = JsonObject & { readonly result: Json }

export interface LoadRequest {
  readonly id: string
  readonly main: string
  readonly config: JsonObject
  /** Base64 of each verified file by its path. */
  readonly files: readonly (readonly [path: string, base64: string])[]
  readonly tools: readonly { readonly name: string; readonly powers: readonly RuntimePart[] }[]
  /** Names of the variables that the manifest declares. */
  readonly env?: readonly string[]
  /** The code of the shims for globals and modules, where a tool declares a capability that has some or names one. */
  readonly shims?: string
  /** All shims exist: the code is loaded to read what it declares. */
  readonly describes?: true
  /** The shims over Node's own modules that the code names. */
  readonly natives?: readonly string[]
}

export interface LoadReply {
  readonly tools: readonly {
    readonly name: string
    readonly approvalKey: boolean
    readonly revert?: true
    readonly input?: Json
    readonly requires?: Json
  }[]
  readonly phases: readonly LifecyclePhase[]
}

/** Limits that the compartment keeps on its own side. Over a socket they are the first packet. */
export interface CompartmentTerms
  extends Pick<CompartmentLimits, 'messageBytes' | 'messagesPerSecond' | 'outputBytes' | 'outstandingRequests'> {
  /** Whether it may spend processor time on waiting for the next message. */
  readonly busyPoll: boolean
}

/** A script and V8's code cache for it, which saves most of the time of a start. */
export interface CompiledScript {
  readonly text: string
  readonly cache: Uint8Array
}

/** `workerData` of the thread of a compartment. It starts before it is known which extension it will run. */
export interface WorkerStart {
  readonly script: CompiledScript
  /** The one module of ours that extensions may import, as source text. */
  readonly author: string
  /** True for a spare: no caller waits, so there is time for a warm-up. */
  readonly spare: boolean
  /** True in a child process, where a socket to the host is open; false in the host's process, which sends a task. */
  readonly inHull: boolean
  /** Whether it opens a debugger, for the code of a developer. */
  readonly inspects?: boolean
}

/** The only message to a thread in the host's process: be a compartment until it ends. */
export interface CompartmentTask {
  readonly port: MessagePort
  readonly terms: CompartmentTerms
}

/** The only argument of a child process. Its thread starts while the rest is still being read. */
export interface HullStart {
  /** Source text that the thread runs first. */
  readonly boot: string
  readonly options: WorkerOptions
}

/** The first line the host writes to a child process: all it needs to wait, locked down, for an extension. */
export interface HullHandover {
  readonly author: string
  readonly script: string
  readonly cacheBase64: string
  readonly spare: boolean
  readonly inspects: boolean
}

/** The second and last line: the limits of the extension it now belongs to. */
export type HullAssignment = Pick<CompartmentLimits, 'memoryMb' | 'cpuMs'>

/** What a child process writes to its host, one line each. */
export type HullReport = { readonly type: 'ready' } | EndReport

/** Why it ends. The first report is the cause. */
export type EndReport =
  | { readonly type: 'memory'; readonly usedMb: number }
  | { readonly type: 'cpu'; readonly usedMs: number }
  | { readonly type: 'error'; readonly code?: string; readonly message?: string; readonly stack?: string }
  | { readonly type: 'exit'; readonly code: number }

/** Carries packets between the two sides. */
export interface Transport {
  send(packet: Packet): void
  /** Bytes given to `send` that have not left yet, as far as this side can know. */
  readonly queuedBytes: number
  /** Called once, before the first packet can arrive. */
  listen(receiver: TransportReceiver): void
  /** Idempotent; `closed` follows. */
  close(): void
}

export interface TransportReceiver {
  /** Unchecked: a port delivers whatever the other side posts. */
  packet(packet: unknown): void
  /** Everything sent has left, after some of it had to wait. */
  drained?(): void
  /**
   * The first call counts. With an error when the bytes are not valid frames, without one when the other side is gone.
   */
  closed(error?: Error): void
}
