type Work = (...args: unknown[]) => unknown
type Listener = (message: unknown, name: string | symbol) => void

/** A channel between libraries of one extension. Those of Node carry Node's own objects, and are not these. */
class Channel {
  readonly name: string | symbol
  readonly #listeners = new Set<Listener>()

  constructor(name: string | symbol) {
    this.name = name
  }

  get hasSubscribers(): boolean {
    return this.#listeners.size > 0
  }

  subscribe(listener: Listener): void {
    this.#listeners.add(listener)
  }

  unsubscribe(listener: Listener): boolean {
    return this.#listeners.delete(listener)
  }

  publish(message: unknown): void {
    for (const listener of this.#listeners) listener(message, this.name)
  }

  bindStore(): void {}

  unbindStore(): boolean {
    return false
  }

  runStores(message: unknown, work: Work, self?: unknown, ...args: unknown[]): unknown {
    this.publish(message)
    return Reflect.apply(work, self, args)
  }
}

const EVENTS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const

/** `node:diagnostics_channel` within one extension. */
export function channelModule(): object {
  const channels = new Map<string | symbol, Channel>()
  const channel = (name: string | symbol): Channel => {
    const found = channels.get(name) ?? new Channel(name)
    channels.set(name, found)
    return found
  }
  const tracingChannel = (name: string): object => {
    const of = Object.fromEntries(EVENTS.map((event) => [event, channel(`tracing:${name}:${event}`)]))
    const run = (work: Work, _context?: unknown, self?: unknown, ...args: unknown[]): unknown =>
      Reflect.apply(work, self, args)
    return {
      ...of, hasSubscribers: false, subscribe: () => undefined, unsubscribe: () => false,
      traceSync: run, tracePromise: run,
      traceCallback: (work: Work, _at: number, _context: unknown, self: unknown, ...args: unknown[]) =>
        Reflect.apply(work, self, args),
    }
  }
  return Object.freeze({
    Channel, channel, tracingChannel,
    hasSubscribers: (name: string | symbol) => channels.get(name)?.hasSubscribers ?? false,
    subscribe: (name: string | symbol, listener: Listener) => channel(name).subscribe(listener),
    unsubscribe: (name: string | symbol, listener: Listener) => channel(name).unsubscribe(listener),
  })
}
