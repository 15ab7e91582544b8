import { setImmediate } from 'node:timers'
import type { MessagePort } from 'node:worker_threads'
import { monotonicMs } from './clock.ts'
import type { Transport } from './protocol.ts'

/** How long messages may be taken within one turn of the event loop, in ms. */
const TURN_MS = 5
/** So many are taken without looking at the clock. */
const FREE_MESSAGES = 8

/**
 * One turn of this thread's event loop. Node delivers up to a thousand messages of a port in one turn, those included that arrive
 * meanwhile: two sides that reply fast would block timers, sockets and other ports for half a second.
 */
class Turn {
  #taken = 0
  #since: number | undefined
  #waiting: (() => void)[] = []

  /** Whether the rest should wait for the next turn. Called after each message. */
  isLong(): boolean {
    if (++this.#taken < FREE_MESSAGES) return false
    if (this.#since !== undefined) return monotonicMs() - this.#since > TURN_MS
    this.#since = monotonicMs()
    setImmediate(this.#end)
    return false
  }

  /** Contract: `run` does not throw, and the turn was found long. */
  onNext(run: () => void): void {
    this.#waiting.push(run)
  }

  readonly #end = (): void => {
    this.#taken = 0
    this.#since = undefined
    const waiting = this.#waiting
    this.#waiting = []
    for (const run of waiting) run()
  }
}

/** Shared by all ports of this thread. */
const turn = new Turn()

/** Between threads of one process. The queue of a port cannot be measured. */
export function portTransport(port: MessagePort): Transport {
  let isClosed = false
  return {
    queuedBytes: 0,
    send: (packet) => port.postMessage(packet),
    listen(receiver) {
      const take = (packet: unknown): void => {
        receiver.packet(packet)
        if (!turn.isLong() || isClosed) return
        // A port without a listener keeps its messages.
        port.off('message', take)
        turn.onNext(() => {
          if (!isClosed) port.on('message', take)
        })
      }
      port.on('message', take)
      port.on('messageerror', (error: Error) => receiver.closed(error))
      port.once('close', () => {
        isClosed = true
        receiver.closed()
      })
    },
    close() {
      isClosed = true
      port.close()
    },
  }
}
