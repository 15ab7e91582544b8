import { Buffer } from 'node:buffer'
import type { Socket } from 'node:net'
import { encodeFrame, KEPT_BYTES, SHORT_BYTES } from './frame.ts'
import type { Packet } from './transport.ts'

/**
 * Writes packets to a socket as frames. Large ones leave from one room, one after the other: those behind wait as the texts they
 * are, because memory for all of them at once would cost more than everything else that is done to them.
 */
export class FrameWriter {
  readonly #socket: Socket
  readonly #drained: () => void
  #room: Buffer | undefined
  #roomTaken = false
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
    if (!this.#roomTaken) return this.#encode(packet)
    this.#waiting.push(packet)
    this.#waitingChars += charsOf(packet)
    return false
  }

  #encode(packet: Packet): boolean {
    let inRoom = false
    const frame = encodeFrame(packet, (bytes) => {
      inRoom = bytes > SHORT_BYTES && bytes <= KEPT_BYTES
      if (!inRoom) return Buffer.allocUnsafe(bytes)
      this.#room ??= Buffer.allocUnsafeSlow(KEPT_BYTES)
      return this.#room
    })
    if (!inRoom) return this.#socket.write(frame)
    const goesOn = this.#socket.write(frame, this.#left)
    // Mostly the system has taken all of it by now.
    this.#roomTaken = this.#socket.writableLength > 0
    return goesOn
  }

  /** Also of a frame that left at once, while another may be leaving. */
  readonly #left = (): void => {
    if (this.#roomTaken) this.#goOn()
  }

  #goOn(): void {
    if (this.#socket.writableLength > 0 || !this.#socket.writable) return
    this.#roomTaken = false
    let next = 0
    let free = true
    while (next < this.#waiting.length && !this.#roomTaken) {
      const packet = this.#waiting[next++]!
      this.#waitingChars -= charsOf(packet)
      free = this.#encode(packet)
    }
    this.#waiting = this.#waiting.slice(next)
    // Otherwise it comes here again, by what has not left yet.
    if (free && !this.#roomTaken) this.#drained()
  }
}

const charsOf = (packet: Packet): number =>
  typeof packet === 'string' ? packet.length : packet.reduce((sum, text) => sum + text.length, 0)
