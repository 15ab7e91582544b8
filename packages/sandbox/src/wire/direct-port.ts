import type { MessagePort } from 'node:worker_threads'

/** What Node calls for each message of a port. It is a symbol of the registry because contexts share it. */
const DISPATCH = Symbol.for('nodejs.internal.kHybridDispatch')

/** Taken now: what runs later in this thread may have put something else in its place. */
const { defineProperty } = Object
const { apply } = Reflect

/**
 * Takes the messages of a port as they come, without an event that is made, dispatched and thrown away for each: that is a
 * thirtieth of a short call. Where Node does not look for this any more nothing is lost: the listener, which a port needs in order to be read
 * at all, hears them. Contract: called once, with what listens.
 */
export function takeDirectly(port: MessagePort, take: (message: unknown) => void): void {
  const usual = (port as { readonly [DISPATCH]?: unknown })[DISPATCH]
  if (typeof usual !== 'function') return
  const value = (message: unknown, type: string, event: unknown): unknown =>
    type === 'message' ? take(message) : apply(usual, port, [message, type, event])
  defineProperty(port, DISPATCH, { value })
}
