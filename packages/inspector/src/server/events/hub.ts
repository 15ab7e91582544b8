import type { EventType } from '@bulkhead/contract'
import type { About, Frame, InspectorEvent, Topic } from '../../protocol.ts'
import type { CallSeries } from '../calls/series.ts'
import type { LiveCalls } from '../calls/live-calls.ts'
import { StoreFollower } from '../calls/store-follower.ts'
import { RequestFault } from '../fault.ts'
import type { Inspected, WatchedFrames } from '../inspected.ts'
import type { Inbox } from '../waiting/inbox.ts'
import { encodeEvent, Subscriber } from './subscriber.ts'

/** Calls that changed are sent together. */
const BATCH_MS = 50
const STORE_MS = 1_000
const HEALTH_MS = 2_000
const MOST_SUBSCRIBERS = 16
/** What changes a view of the policy. */
const POLICY_CHANGES: readonly EventType[] =
  ['ApprovalGranted', 'ApprovalExpired', 'ApprovalRevoked', 'ExtensionReloaded', 'WorkspaceSwitched']
/** Messages of servers that wait for the next batch. */
const MOST_FRAMES = 500

export interface HubSources {
  readonly inspected: Inspected
  readonly live: LiveCalls
  readonly inbox: Inbox
  readonly series: CallSeries
  readonly about: () => About
  readonly onFault: (error: unknown) => void
}

/** Everyone who listens, and what they are sent. Nothing runs while no one does. */
export class Hub {
  readonly #sources: HubSources
  readonly #subscribers = new Set<Subscriber>()
  readonly #follower: StoreFollower
  readonly #watched = new Map<string, WatchedFrames>()
  readonly #timers: NodeJS.Timeout[] = []
  readonly #frames = new Map<string, { readonly kept: Frame[]; missed: number }>()
  #waiting = ''
  #isReading = false
  #isMeasuring = false
  #stops: readonly (() => void)[] = []
  #batch: NodeJS.Timeout | undefined

  constructor(sources: HubSources) {
    this.#sources = sources
    this.#follower = new StoreFollower(sources.inspected, (id) => sources.live.get(id) !== undefined)
  }

  /** Throws Busy, and NotSupported for messages that cannot be watched. */
  subscribe(topics: ReadonlySet<Topic>): Subscriber {
    if (this.#subscribers.size >= MOST_SUBSCRIBERS) {
      throw new RequestFault('Busy', `The inspector has ${MOST_SUBSCRIBERS} readers of events. Close a tab.`)
    }
    const subscriber = new Subscriber(topics, () => this.#left(subscriber))
    this.#subscribers.add(subscriber)
    try {
      for (const server of serversIn(topics)) this.#watch(server)
    } catch (error) {
      subscriber.end()
      throw error
    }
    if (this.#subscribers.size === 1) this.#begin()
    const { server, now } = this.#sources.about()
    subscriber.send(encodeEvent({ type: 'hello', server, now }))
    for (const watched of serversIn(topics)) {
      const frames = this.#watched.get(watched)!.first()
      if (frames.length > 0) subscriber.send(encodeEvent({ type: 'frames', frames, missed: 0 }))
    }
    if (topics.has('waiting')) void this.#tellWaiting([subscriber])
    if (topics.has('health')) void this.#tellHealth([subscriber])
    return subscriber
  }

  /** To every client. */
  send(event: InspectorEvent): void {
    const encoded = encodeEvent(event)
    for (const subscriber of this.#subscribers) subscriber.send(encoded)
  }

  close(): void {
    for (const subscriber of [...this.#subscribers]) subscriber.end()
  }

  #of(topic: Topic): readonly Subscriber[] {
    return [...this.#subscribers].filter(({ topics }) => topics.has(topic))
  }

  #begin(): void {
    // Those that changed while no one listened are in the list that a client gets first.
    this.#sources.live.takeChanged()
    this.#waiting = ''
    const { questions, on } = this.#sources.inspected
    this.#stops = [
      questions.onChange(() => this.#soon()),
      on(() => this.send({ type: 'changed', what: 'tools' }), ['ToolsChanged']),
      on(() => this.send({ type: 'changed', what: 'policy' }), POLICY_CHANGES),
    ]
    const every = (ms: number, run: () => void): void => void this.#timers.push(setInterval(run, ms).unref())
    every(BATCH_MS, () => this.#sendBatch())
    every(STORE_MS, () => { for (const subscriber of this.#subscribers) subscriber.tick() })
    every(HEALTH_MS, () => void this.#tellHealth(this.#of('health')))
    if (this.#sources.inspected.scope === 'store') every(STORE_MS, () => void this.#readStore())
  }

  #left(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber)
    for (const [server, watched] of this.#watched) {
      if (this.#of(`frames:${server}`).length > 0) continue
      watched.stop()
      this.#watched.delete(server)
      this.#frames.delete(server)
    }
    if (this.#subscribers.size > 0) return
    for (const timer of this.#timers.splice(0)) clearInterval(timer)
    clearTimeout(this.#batch)
    this.#batch = undefined
    for (const stop of this.#stops) stop()
  }

  /** Several questions of one moment are sent once. */
  #soon(): void {
    this.#batch ??= setTimeout(() => {
      this.#batch = undefined
      void this.#tellWaiting(this.#of('waiting'))
    }, BATCH_MS).unref()
  }

  #sendBatch(): void {
    const changed = this.#sources.live.takeChanged()
    const readers = changed.length === 0 ? [] : this.#of('calls')
    if (readers.length > 0) sendTo(readers, { type: 'calls', items: changed.map(({ item }) => item) })
    for (const [server, { kept, missed }] of this.#frames) {
      if (kept.length === 0) continue
      sendTo(this.#of(`frames:${server}`), { type: 'frames', frames: kept, missed })
      this.#frames.set(server, { kept: [], missed: 0 })
    }
  }

  async #tellWaiting(readers: readonly Subscriber[], onlyIfChanged = false): Promise<void> {
    if (readers.length === 0) return
    try {
      const view = await this.#sources.inbox.view()
      const json = JSON.stringify(view)
      if (onlyIfChanged && json === this.#waiting) return
      this.#waiting = json
      sendTo(readers, { type: 'waiting', view })
    } catch (error) {
      this.#sources.onFault(error)
    }
  }

  async #tellHealth(readers: readonly Subscriber[]): Promise<void> {
    if (readers.length === 0 || this.#isMeasuring) return
    this.#isMeasuring = true
    try {
      const { inspected, series } = this.#sources
      sendTo(readers, { type: 'health', view: { at: Date.now(), ...await inspected.health(), series: series.view() } })
    } catch (error) {
      this.#sources.onFault(error)
    } finally {
      this.#isMeasuring = false
    }
  }

  /** A slow store delays the next reading. */
  async #readStore(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    try {
      await this.#tellWaiting(this.#of('waiting'), true)
      const readers = this.#of('calls')
      const items = readers.length === 0 ? [] : await this.#follower.read()
      if (items.length > 0) sendTo(readers, { type: 'calls', items })
    } catch (error) {
      this.#sources.onFault(error)
    } finally {
      this.#isReading = false
    }
  }

  #watch(server: string): void {
    if (this.#watched.has(server)) return
    const watched = this.#sources.inspected.watchFrames(server, (frame) => {
      const waiting = this.#frames.getOrInsertComputed(server, () => ({ kept: [], missed: 0 }))
      waiting.kept.push(frame)
      if (waiting.kept.length <= MOST_FRAMES) return
      waiting.kept.shift()
      waiting.missed++
    })
    if (watched === undefined) throw new RequestFault('NotSupported', `The messages of the server "${server}" cannot be watched.`)
    this.#watched.set(server, watched)
  }
}

function sendTo(readers: readonly Subscriber[], event: InspectorEvent): void {
  if (readers.length === 0) return
  const encoded = encodeEvent(event)
  for (const reader of readers) reader.send(encoded)
}

const FRAMES = 'frames:'
const serversIn = (topics: ReadonlySet<Topic>): readonly string[] =>
  [...topics].filter((topic) => topic.startsWith(FRAMES)).map((topic) => topic.slice(FRAMES.length))
