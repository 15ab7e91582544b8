import { visibleText } from '@bulkhead/kit/text'

/** A message of a server as it is shown: without secrets, and cut. */
export interface ServerFrame {
  readonly at: number
  /** in: from the server. */
  readonly direction: 'in' | 'out'
  readonly text: string
  /** Of the whole message. */
  readonly bytes: number
  readonly cut: boolean
}

const MOST_CHARS = 16 * 1024

/** Shows the messages of a server in both directions, while someone watches. */
export class FrameTap {
  readonly #listeners = new Set<(frame: ServerFrame) => void>()

  /** Contract: the listener must not throw. */
  watch(listener: (frame: ServerFrame) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  note(direction: ServerFrame['direction'], message: unknown, redact: (text: string) => string): void {
    if (this.#listeners.size === 0) return
    const json = redact(JSON.stringify(message))
    const cut = json.length > MOST_CHARS
    const frame = {
      at: Date.now(), direction, text: visibleText(cut ? json.slice(0, MOST_CHARS) : json),
      bytes: Buffer.byteLength(json), cut,
    }
    for (const listener of this.#listeners) listener(frame)
  }
}
