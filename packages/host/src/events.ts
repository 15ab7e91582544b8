import { messageOf, type BulkheadEvent, type Clock, type EventBody, type EventListener } from '@bulkhead/contract'

interface Subscription {
  readonly listener: EventListener
}

/** Tells whoever listens what happened. A listener can neither stop nor change what it is told. */
export class EventBus {
  readonly #clock: Clock
  // Replaced, never changed: somebody who subscribes while an event is told hears the next one.
  #subscriptions: readonly Subscription[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  on(listener: EventListener): () => void {
    const subscription = { listener }
    this.#subscriptions = [...this.#subscriptions, subscription]
    return () => {
      this.#subscriptions = this.#subscriptions.filter((other) => other !== subscription)
    }
  }

  /** Contract: must not throw, whatever the listeners do. */
  emit(body: EventBody): void {
    const subscriptions = this.#subscriptions
    if (subscriptions.length === 0) return
    const event = Object.freeze({ ...body, at: new Date(this.#clock.now()).toISOString() }) as BulkheadEvent
    for (const { listener } of subscriptions) this.#tell(listener, event)
  }

  /** For faults of observers, which must not reach the call they observe. */
  suppressed(source: string, thrown: unknown): void {
    this.emit({ type: 'SuppressedError', source, message: messageOf(thrown) })
  }

  #tell(listener: EventListener, event: BulkheadEvent): void {
    // A fault while telling of a fault is dropped: otherwise one broken listener would keep the host busy for ever.
    const fault = (thrown: unknown) => {
      if (event.type !== 'SuppressedError') this.suppressed(`listener of ${event.type}`, thrown)
    }
    try {
      const answer: unknown = listener(event)
      // An async function is a listener to the type system; its rejection would otherwise end the process.
      if (answer instanceof Promise) answer.catch(fault)
    } catch (thrown) {
      fault(thrown)
    }
  }
}
