import type { CallItem, CaptureState } from './calls.ts'
import type { Frame, HealthView } from './health.ts'
import type { WaitingView } from './waiting.ts'

/**
 * `GET api/events?topics=waiting,calls,health,frames:SERVER`. Server-sent events: `event` is the type, `data` the JSON of
 * the rest. There is no replay: each connection begins with `hello` and the present state of its topics, so a client
 * that lost its connection connects again. A client that reads too slowly gets `resync` in place of what it missed, and is
 * cut if it still does not read.
 */
export type InspectorEvent =
  | HelloEvent
  | WaitingEvent
  | CallsEvent
  | HealthEvent
  | FramesEvent
  | ChangedEvent
  | ResyncEvent

/** tools, policy and capture are always sent. */
export type Topic = 'waiting' | 'calls' | 'health' | `frames:${string}`

export interface HelloEvent {
  readonly type: 'hello'
  /** As in About: if it is another one, the key is void. */
  readonly server: string
  readonly now: number
}

export interface WaitingEvent {
  readonly type: 'waiting'
  readonly view: WaitingView
}

/** At most one each 50 ms. A call is at most once in it, with its present state: replace the row of the same id. */
export interface CallsEvent {
  readonly type: 'calls'
  /** In order of their start. */
  readonly items: readonly CallItem[]
}

export interface HealthEvent {
  readonly type: 'health'
  readonly view: HealthView
}

/** Begins with the first messages of the connection to the server. A message may be sent twice: compare `host` and `seq`. */
export interface FramesEvent {
  readonly type: 'frames'
  readonly frames: readonly Frame[]
  /** Messages that came too fast and were left out before these. */
  readonly missed: number
}

/** Something that is not sent is different now: get it again if it is shown. */
export interface ChangedEvent {
  readonly type: 'changed'
  readonly what: 'tools' | 'policy' | 'capture'
  readonly capture?: CaptureState
}

/** Messages were left out. Get what is shown again. */
export interface ResyncEvent {
  readonly type: 'resync'
}
