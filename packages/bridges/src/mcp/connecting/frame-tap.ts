import { visibleText } from '@bulkhead/kit/text'

/** A message of a server as it is shown: without secrets, and cut. */
export interface ServerFrame {
  /** In the order of all messages of the server, also those that were not watched. */
  readonly seq: number
  readonly at: number
  /** in: from the server. */
  readonly direction: 'in' | 'out'
  readonly text: string
  /** Of the whole message. */
  readonly bytes: number
  readonly cut: boolean
}

export interface FrameWatch {
  /** The first messages of the present connection, also those that were sent before it was watched. */
  first(): readonly ServerFrame[]
  stop(): void
}

const MOST_CHARS = 16 * 1024
/** The handshake and the first lists. */
const MOST_FIRST = 8

/** Shows the messages of a server in both directions while someone watches, and the first ones of a connection later too. */
export class FrameTap {
  readonly #listeners = new Set<(frame: ServerFrame) => void>()
  #first: ServerFrame[] = []
  #seq = 0

  /** Contract: the listener must not throw. */
  watch(listener: (frame: ServerFrame) => void): FrameWatch {
    this.#listeners.add(listener)
    return { first: () => this.#first, stop: () => void this.#listeners.delete(listener) }
  }

  /** A connection begins. */
  begin(): void {
    this.#first = []
  }

  note(direction: ServerFrame['direction'], message: unknown, redact: (text: string) => string): void {
    this.#seq++
    const isFirst = this.#first.length < MOST_FIRST
    if (this.#listeners.size === 0 && !isFirst) return
    const json = redact(JSON.stringify(message))
    const cut = json.length > MOST_CHARS
    const frame = {
      seq: this.#seq, at: Date.now(), direction, text: visibleText(cut ? json.slice(0, MOST_CHARS) : json),
      bytes: Buffer.byteLength(json), cut,
    }
    if (isFirst) this.#first.push(frame)
    for (const listener of this.#listeners) listener(frame)
  }
}
