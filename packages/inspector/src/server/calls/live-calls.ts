import type { BulkheadEvent, EventOf, EventType } from '@bulkhead/contract'
import type { SessionItem } from '../../protocol.ts'
import type { Inspected, ObservedUse, QuestionChange } from '../inspected.ts'
import { callIdOf, LiveCall, shown } from './live-call.ts'

/** Calls that ended and are kept. */
const MOST_ENDED = 2_000
const MOST_SESSIONS = 500

const TYPES: readonly EventType[] = [
  'ToolInvocationProposed', 'ToolInvocationDecided', 'ToolInvocationStarted', 'ToolInvocationSucceeded', 'ToolInvocationFailed',
  'ToolInvocationCancelled', 'LifecycleStateChanged', 'SessionOpened', 'SessionClosed',
]

/** The calls of this process: those that run, and the last that ended. */
export class LiveCalls {
  readonly #calls = new Map<string, LiveCall>()
  readonly #running = new Set<LiveCall>()
  readonly #ended: LiveCall[] = []
  readonly #sessions = new Map<string, SessionItem>()
  /** When the start of a generation of an extension began. */
  readonly #starts = new Map<string, number>()
  /** The generation of each extension that has a compartment. */
  readonly #active = new Map<string, number>()
  readonly #changed = new Set<LiveCall>()
  readonly #host: string
  readonly #now: () => number
  readonly #onEnd: (call: LiveCall) => void
  readonly #stop: readonly (() => void)[]

  /** `onEnd`: called for each call that ended. */
  constructor(
    inspected: Pick<Inspected, 'host' | 'on' | 'onUse' | 'questions'>, onEnd: (call: LiveCall) => void,
    now = () => performance.now(),
  ) {
    this.#host = inspected.host
    this.#now = now
    this.#onEnd = onEnd
    this.#stop = [
      inspected.on((event) => this.#take(event), TYPES),
      inspected.onUse((use) => this.#use(use)),
      inspected.questions.onChange((change) => this.#ask(change)),
    ]
  }

  /** Those that changed since this was called last, in order of their start. */
  takeChanged(): readonly LiveCall[] {
    if (this.#changed.size === 0) return []
    const changed = [...this.#changed].toSorted((a, b) => a.at - b.at)
    this.#changed.clear()
    return changed
  }

  get(id: string): LiveCall | undefined {
    return this.#calls.get(id)
  }

  /** In no order. */
  all(): Iterable<LiveCall> {
    return this.#calls.values()
  }

  children(id: string): readonly LiveCall[] {
    return [...this.#calls.values()].filter(({ item }) => item.parent === id)
  }

  /** Latest first. */
  sessions(): readonly SessionItem[] {
    return [...this.#sessions.values()].toReversed()
  }

  stop(): void {
    for (const stop of this.#stop) stop()
  }

  #take(event: BulkheadEvent): void {
    switch (event.type) {
      case 'ToolInvocationProposed': {
        const call = this.#begin(event, this.#now())
        const { parentCallId, sessionId } = event
        if (parentCallId !== undefined) this.#calls.get(callIdOf(sessionId, parentCallId))?.child(call, this.#now())
        return
      }
      case 'ToolInvocationDecided':
        return this.#change(event.sessionId, event.callId, (call) => call.decide(event, this.#now()))
      case 'ToolInvocationStarted':
        return this.#change(event.sessionId, event.callId, (call) => call.start(event.attempt, this.#now()))
      case 'ToolInvocationSucceeded':
      case 'ToolInvocationFailed':
      case 'ToolInvocationCancelled':
        if (!this.#calls.has(callIdOf(event.sessionId, event.callId))) this.#begin(event, this.#now() - event.durationMs)
        return this.#change(event.sessionId, event.callId, (call) => {
          call.end(event, this.#now())
          this.#keep(call)
        })
      case 'LifecycleStateChanged': return this.#lived(event)
      case 'SessionOpened': return this.#opened(event)
      case 'SessionClosed': return this.#closed(event.sessionId)
    }
  }

  #begin(event: ConstructorParameters<typeof LiveCall>[0], at: number): LiveCall {
    const call = new LiveCall(event, this.#host, this.#sessions.get(event.sessionId)?.agent, at)
    this.#calls.set(call.id, call)
    this.#running.add(call)
    this.#changed.add(call)
    return call
  }

  #change(session: string, call: string, change: (call: LiveCall) => void): void {
    const found = this.#calls.get(callIdOf(session, call))
    if (found === undefined) return
    change(found)
    this.#changed.add(found)
  }

  #use(use: ObservedUse): void {
    this.#change(use.session, use.call, (call) => call.use(use, this.#now()))
  }

  #ask({ is, session, call }: QuestionChange): void {
    if (session === undefined || call === undefined) return
    this.#change(session, call, (found) => found.ask(is === 'open', this.#now()))
  }

  /** Calls that run on an extension without a compartment wait for its start. With one that is older, they run in that. */
  #lived({ extensionId: extension, generation, to }: EventOf<'LifecycleStateChanged'>): void {
    const key = `${extension} ${generation}`
    if (to === 'initialising') this.#starts.set(key, this.#now())
    else if (to === 'active' || to === 'failed') {
      const from = this.#starts.get(key)
      this.#starts.delete(key)
      if (from !== undefined && !this.#active.has(extension)) this.#started(extension, from, to === 'failed')
    }
    if (to === 'active') this.#active.set(extension, generation)
    else if (this.#active.get(extension) === generation) this.#active.delete(extension)
  }

  #started(extension: string, from: number, failed: boolean): void {
    for (const call of this.#running) {
      if (call.extension !== extension || !call.isRunning) continue
      call.compartment(`start of ${shown(extension)}`, from, this.#now(), failed)
      this.#changed.add(call)
    }
  }

  #keep(call: LiveCall): void {
    if (!this.#running.delete(call)) return
    this.#onEnd(call)
    this.#ended.push(call)
    // Removed in blocks: removing the first of a list moves all others.
    if (this.#ended.length < 2 * MOST_ENDED) return
    for (const old of this.#ended.splice(0, MOST_ENDED)) {
      if (this.#calls.get(old.id) === old) this.#calls.delete(old.id)
    }
  }

  #opened({ sessionId, workspace, principal, agent, parentId, at }: Extract<BulkheadEvent, { type: 'SessionOpened' }>): void {
    this.#sessions.set(sessionId, {
      id: shown(sessionId), host: this.#host, workspace: shown(workspace), open: true, since: Date.parse(at),
      ...(principal !== undefined && { principal: shown(principal) }), ...(agent !== undefined && { agent: shown(agent) }),
      ...(parentId !== undefined && { parent: shown(parentId) }),
    })
    const oldest = this.#sessions.size > MOST_SESSIONS && this.#sessions.entries().find(([, { open }]) => !open)
    if (oldest) this.#sessions.delete(oldest[0])
  }

  #closed(id: string): void {
    const session = this.#sessions.get(id)
    if (session) this.#sessions.set(id, { ...session, open: false })
  }
}
