/**
 * Everything that crosses between the host and a compartment.
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

/** What the host can request of a compartment. The compartment can request the `BROKER_METHODS` of the contract. */
export interface CompartmentMethods {
  load(request: LoadRequest): LoadReply
  lifecycle(phase: LifecyclePhase): void
  execute(callId: string, tool: string, args: JsonObject): Json
  deriveApprovalKey(tool: string, args: JsonObject): Json
  migrateState(slotVersion: string, data: Json): Json
  abort(callId: string, reason: string): void
}

export interface LoadRequest {
  readonly id: string
  readonly main: string
  readonly config: JsonObject
  /** Base64 of each verified file by its path. */
  readonly files: readonly (readonly [path: string, base64: string])[]
  readonly tools: readonly { readonly name: string; readonly powers: readonly RuntimePart[] }[]
}

export interface LoadReply {
  readonly tools: readonly {
    readonly name: string
    readonly approvalKey: boolean
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
  /** Files that could be read up to lockdown. The probe checks that they no longer can. */
  readonly readable: readonly string[]
  /**
   * True in a child process, where a socket to the host is open; false in the host's process, where Piscina sends a
   * task.
   */
  readonly inHull: boolean
}

/** The only task that a Piscina thread ever gets: be a compartment until it ends. */
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
}

/** The second and last line: the limits of the extension it now belongs to. */
export type HullAssignment = Pick<CompartmentLimits, 'memoryMb' | 'cpuMs'>

/** What a child process writes to its host, one line each. */
export type HullReport = { readonly type: 'ready' } | EndReport

/** Why it ends. The first report is the cause. */
export type EndReport =
  | { readonly type: 'memory'; readonly usedMb: number }
  | { readonly type: 'cpu'; readonly usedMs: number }
  | { readonly type: 'error'; readonly code?: string; readonly message?: string }
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

/** The first element of a message: a request, a value or an error, on one of the two channels. */
export const KINDS = {
  call: { request: 0, value: 1, failure: 2 },
  broker: { request: 3, value: 4, failure: 5 },
} as const

export type ChannelKinds = (typeof KINDS)[keyof typeof KINDS]

/** Descriptor of the socket to the host in a child process. */
export const CHANNEL_FD = 4

/** Limits on errors and on the nesting of a packet. */
export const WIRE_LIMITS = { errorChars: 10_000, errorDepth: 4, jsonDepth: 72 } as const

/**
 * Longer strings travel beside the JSON, because parsing a string takes many times as long as copying it. Without this
 * a call of 100 KB takes 2.5 times as long in a process, and three times the processor time 64 abreast.
 */
const LONG_CHARS = 4_096

/** Further long strings of a message stay in the JSON. */
export const MAX_LONG_STRINGS = 1_024

/** A packet is one message, or a list of messages. */
export const messagesOf = (packet: readonly unknown[]): readonly unknown[] =>
  typeof packet[0] === 'number' ? [packet] : packet

/** Length of a message of that kind without holes. The last element is its content. */
export const lengthOf = (kind: number): number => kind === KINDS.call.request || kind === KINDS.broker.request ? 4 : 3

/** Called for every message that is sent, so it allocates nothing. */
export function hasLongString(value: unknown): boolean {
  if (typeof value === 'string') return value.length > LONG_CHARS
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) if (hasLongString(value[index])) return true
    return false
  }
  for (const key in value) if (hasLongString((value as Readonly<Record<string, unknown>>)[key])) return true
  return false
}

/**
 * A copy without its long strings, which are added to `strings`, and their paths to `holes`. Parts without any are not
 * copied.
 */
export function takeOut(value: unknown, strings: string[], holes: Path[], path: (string | number)[] = []): unknown {
  if (typeof value === 'string') {
    // A lone surrogate survives in JSON, but not in UTF-8.
    if (value.length <= LONG_CHARS || strings.length === MAX_LONG_STRINGS || !value.isWellFormed()) return value
    strings.push(value)
    holes.push(path.slice())
    return null
  }
  if (typeof value !== 'object' || value === null) return value
  let copy: Record<string | number, unknown> | undefined
  const visit = (key: string | number, member: unknown): void => {
    path.push(key)
    const rest = takeOut(member, strings, holes, path)
    path.pop()
    if (rest === member) return
    copy ??= (Array.isArray(value) ? value.slice() : { ...value }) as unknown as Record<string | number, unknown>
    copy[key] = rest
  }
  if (Array.isArray(value)) for (let index = 0; index < value.length; index++) visit(index, value[index])
  // Assigning to `__proto__` would change the prototype of the copy.
  else for (const key in value) if (key !== '__proto__') visit(key, (value as Readonly<Record<string, unknown>>)[key])
  return copy ?? value
}

/**
 * Puts the next strings into the holes of a value that may come from a hostile compartment: paths follow own properties
 * only, and only `null` is replaced. Contract: throws a RangeError when a place or a string is missing.
 */
export function putBack(value: Json, holes: readonly Path[], strings: Iterator<string>): Json {
  const root: { [key: string | number]: Json } = { value }
  for (const path of holes) {
    const next = strings.next()
    if (next.done === true) throw new RangeError('a long string is missing')
    let holder = root
    let key: string | number = 'value'
    for (const step of path) {
      holder = holder[key] as typeof root
      if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, step)) {
        throw new RangeError('a long string has no place')
      }
      key = step
    }
    if (holder[key] !== null) throw new RangeError('the place of a long string is taken')
    holder[key] = next.value
  }
  return root['value']!
}

/** Restores the long strings of a message in place. Contract: throws a RangeError where they do not fit. */
export function restore(message: Message, strings: Iterator<string>): void {
  const length = lengthOf(message[0])
  if (message.length === length) return
  const fields = message as unknown as Json[]
  const holes = fields.pop() as unknown as readonly Path[]
  fields[length - 1] = putBack(fields[length - 1]!, holes, strings)
}
