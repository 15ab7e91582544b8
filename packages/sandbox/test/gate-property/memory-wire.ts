import type { Hull, HullExit } from '../../src/process/hull.ts'
import type { Transport, TransportReceiver } from '../../src/wire/protocol.ts'

/** A hull with an in-memory wire. A packet has arrived when `post` returns. */
export class MemoryWire {
  readonly sent: unknown[] = []
  killed = false
  readonly hull: Hull
  #receiver: TransportReceiver | undefined
  readonly #exited = Promise.withResolvers<HullExit>()

  constructor() {
    const transport: Transport = {
      queuedBytes: 0,
      send: (packet) => void this.sent.push(packet),
      listen: (receiver) => void (this.#receiver = receiver),
      close: () => undefined,
    }
    this.hull = {
      transport,
      ready: Promise.resolve(true),
      exited: this.#exited.promise,
      kill: () => {
        this.killed = true
        this.#exited.resolve({ kind: 'killed' })
      },
    }
  }

  post(packet: unknown): void {
    this.#receiver!.packet(packet)
  }

  exit(): void {
    this.#exited.resolve({ kind: 'crashed', text: 'was let go' })
  }
}
