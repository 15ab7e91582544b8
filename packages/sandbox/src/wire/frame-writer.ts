import { Buffer } from 'node:buffer'
import type { Socket } from 'node:net'
import { encodeFrame, KEPT_BYTES, SHORT_BYTES } from './frame.ts'
import type { Packet } from './transport.ts'

/** Enough that the socket always has the next one at hand. */
const MOST_ROOMS = 4

/**
 * Writes packets to a socket as frames. Large ones leave from a few rooms that are used again and again; those for which there is
 * none wait as the texts they are, because fresh memory for each would cost as much as everything else that is done to it.
 */
export class FrameWriter {
  readonly #socket: Socket
  readonly #drained: () => void
  readonly #rooms: Buffer[] = []
  #roomsMade = 0
  #waiting: Packet[] = []
  #waitingChars = 0

  /** `drained` is called when there is room again, after `write` has said false. */
  constructor(socket: Socket, drained: () => void) {
    this.#socket = socket
    this.#drained = drained
    socket.on('drain', () => this.#goOn())
  }

  get queuedBytes(): number {
    return this.#socket.writableLength + this.#waitingChars
  }

  /** False when the socket has as much to write as it should. */
  write(packet: Packet): boolean {
    if (this.#waiting.length === 0 && this.#hasRoom()) return this.#encode(packet)
    this.#waiting.push(packet)
    this.#waitingChars += charsOf(packet)
    return false
  }

  #hasRoom(): boolean {
    return this.#rooms.length > 0 || this.#roomsMade < MOST_ROOMS
  }

  #encode(packet: Packet): boolean {
    let room: Buffer | undefined
    const frame = encodeFrame(packet, (bytes) => {
      if (bytes <= SHORT_BYTES || bytes > KEPT_BYTES) return Buffer.allocUnsafe(bytes)
      room = this.#rooms.pop() ?? this.#newRoom()
      return room
    })
    return room === undefined ? this.#socket.write(frame) : this.#socket.write(frame, this.#giveBack(room))
  }

  #newRoom(): Buffer {
    this.#roomsMade++
    return Buffer.allocUnsafeSlow(KEPT_BYTES)
  }

  #giveBack(room: Buffer): () => void {
    return () => {
      this.#rooms.push(room)
      this.#goOn()
    }
  }

  #goOn(): void {
    if (!this.#socket.writable) return
    let next = 0
    while (next < this.#waiting.length && this.#hasRoom()) {
      const packet = this.#waiting[next++]!
      this.#waitingChars -= charsOf(packet)
      this.#encode(packet)
    }
    if (next > 0) this.#waiting = this.#waiting.slice(next)
    // Otherwise it comes here again, by what has not left yet.
    if (this.#waiting.length === 0 && !this.#socket.writableNeedDrain) this.#drained()
  }
}

const charsOf = (packet: Packet): number =>
  typeof packet === 'string' ? packet.length : packet.reduce((sum, text) => sum + text.length, 0)
