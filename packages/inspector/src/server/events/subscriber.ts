import type { InspectorEvent, Topic } from '../../protocol.ts'

/** What is kept for a client that reads slowly. */
const MOST_BACKLOG_BYTES = 1024 * 1024
/** A client that reads nothing for so long is disconnected. */
const STALLED_MS = 15_000
/** So that proxies and clients notice a connection that is gone. */
const PING = new TextEncoder().encode(': \n\n')
const RESYNC = encodeEvent({ type: 'resync' })

/** As server-sent events have it. JSON has no line breaks. */
export function encodeEvent({ type, ...data }: InspectorEvent): Uint8Array {
  return new TextEncoder().encode(`event: ${type}\ndata: ${JSON.stringify(data)}\n\n`)
}

/** One connection. It keeps a bounded backlog, whatever the client does. */
export class Subscriber {
  readonly stream: ReadableStream<Uint8Array>
  readonly topics: ReadonlySet<Topic>
  readonly #onEnd: () => void
  readonly #now: () => number
  #backlog: Uint8Array[] = []
  #bytes = 0
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  /** Whether the client asked for more than there was. */
  #isHungry = false
  #lastRead: number

  constructor(topics: ReadonlySet<Topic>, onEnd: () => void, now: () => number = () => performance.now()) {
    this.topics = topics
    this.#onEnd = onEnd
    this.#now = now
    this.#lastRead = now()
    this.stream = new ReadableStream<Uint8Array>({
      start: (controller) => { this.#controller = controller },
      pull: () => this.#pulled(),
      cancel: () => this.end(),
    }, { highWaterMark: 0 })
  }

  /** Sends it, or keeps it while the client reads. If too much is kept, the client gets `resync` in place of all. */
  send(event: Uint8Array): void {
    if (this.#controller === undefined) return
    if (this.#isHungry) {
      this.#isHungry = false
      this.#controller.enqueue(event)
      return
    }
    if (this.#bytes + event.length > MOST_BACKLOG_BYTES) {
      this.#backlog = [RESYNC]
      this.#bytes = RESYNC.length
      return
    }
    this.#backlog.push(event)
    this.#bytes += event.length
  }

  /** Ends a connection whose client reads nothing, and keeps the others open. */
  tick(): void {
    if (this.#backlog.length > 0 && this.#now() - this.#lastRead > STALLED_MS) this.end()
    else if (this.#isHungry) this.send(PING)
  }

  /** Idempotent. */
  end(): void {
    const controller = this.#controller
    if (controller === undefined) return
    this.#controller = undefined
    this.#backlog = []
    this.#onEnd()
    try {
      controller.close()
    } catch {
      // The client has cancelled the stream.
    }
  }

  #pulled(): void {
    this.#lastRead = this.#now()
    if (this.#backlog.length === 0) {
      this.#isHungry = true
      return
    }
    const waiting = this.#backlog.length === 1 ? this.#backlog[0]! : Buffer.concat(this.#backlog)
    this.#backlog = []
    this.#bytes = 0
    this.#controller?.enqueue(waiting)
  }
}
