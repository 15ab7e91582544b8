import {
  BulkheadError, EVENT_TYPES, requireOptions, type BulkheadEvent, type Clock, type EventBody, type EventListener,
  type EventType,
} from '@bulkhead/contract'
import { isPromiseLike } from '@bulkhead/kit/deadlines'
import { messageOf } from '@bulkhead/kit/error-message'
import { forms } from '@bulkhead/kit/options'
import { meantNames, visibleText } from '@bulkhead/kit/text'

interface Subscription {
  readonly listener: EventListener
  /** Absent: all. */
  readonly types: ReadonlySet<EventType> | undefined
}

/** Sends events to listeners. A listener can neither stop nor change an event. */
export class EventBus {
  readonly #clock: Clock
  // Replaced, never changed: a listener that subscribes during an event receives the next one.
  #subscriptions: readonly Subscription[] = []
  /** Listeners by event type. Computed with the first event of a type, and again after every subscription. */
  #hearers = new Map<EventType, readonly Subscription[]>()
  /** The time of the last event: many share their millisecond. */
  #at = Number.NaN
  #written = ''

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `types`: the events to receive, all by default. An event without a listener is not created. */
  on(listener: EventListener, types?: ReadonlySet<EventType>): () => void {
    const subscription = { listener, types }
    this.#subscribe([...this.#subscriptions, subscription])
    return () => this.#subscribe(this.#subscriptions.filter((other) => other !== subscription))
  }

  /** Whether the type has a listener. Lets frequent callers avoid creating events. */
  hears(type: EventType): boolean {
    return this.#hearersOf(type).length > 0
  }

  /** Changes the body, so the caller must not keep it. Contract: never throws, whatever the listeners do. */
  emit(body: EventBody): void {
    const hearers = this.#hearersOf(body.type)
    if (hearers.length === 0) return
    const event = body as EventBody & { at: string }
    event.at = this.#time()
    // The failure of one listener does not affect the next.
    if (hearers.length > 1) Object.freeze(event)
    for (const { listener } of hearers) this.#tell(listener, event as BulkheadEvent)
  }

  /** For faults of observers, which must not reach the call they observe. */
  suppressed(source: string, thrown: unknown): void {
    this.emit({ type: 'SuppressedError', source, message: messageOf(thrown) })
  }

  #subscribe(subscriptions: readonly Subscription[]): void {
    this.#subscriptions = subscriptions
    this.#hearers = new Map()
  }

  #hearersOf(type: EventType): readonly Subscription[] {
    const known = this.#hearers.get(type)
    if (known) return known
    const hearers = this.#subscriptions.filter(({ types }) => types === undefined || types.has(type))
    this.#hearers.set(type, hearers)
    return hearers
  }

  #time(): string {
    const now = Math.floor(this.#clock.now())
    if (now !== this.#at) {
      this.#at = now
      this.#written = new Date(now).toISOString()
    }
    return this.#written
  }

  #tell(listener: EventListener, event: BulkheadEvent): void {
    try {
      const answer: unknown = listener(event)
      // An async function is a listener to the type system; its rejection would otherwise end the process.
      if (isPromiseLike(answer)) answer.then(undefined, (thrown: unknown) => this.#failed(event, thrown))
    } catch (thrown) {
      this.#failed(event, thrown)
    }
  }

  #failed({ type }: BulkheadEvent, thrown: unknown): void {
    // A fault while a fault is reported is dropped: otherwise one broken listener would cause a loop.
    if (type !== 'SuppressedError') this.suppressed(`listener of ${type}`, thrown)
  }
}

const LISTENING = { listener: forms.method, types: forms.list(forms.text) }

/** Rejects a listener that is not a function, and an unknown event type. Throws ConfigInvalid. */
export function requireSubscription(listener: EventListener, types: readonly EventType[] | undefined): void {
  requireOptions('on', { listener, types }, LISTENING, 'listener')
  const unknown = types?.find((type) => !EVENT_TYPES.includes(type))
  if (unknown === undefined) return
  throw new BulkheadError(
    'ConfigInvalid', `There is no event "${visibleText(unknown)}".${meantNames(unknown, EVENT_TYPES)}`,
  )
}
