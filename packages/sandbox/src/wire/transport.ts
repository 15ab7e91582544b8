import { Buffer } from 'node:buffer'
import type { Socket } from 'node:net'
import process from 'node:process'
import { setImmediate } from 'node:timers'
import type { MessagePort } from 'node:worker_threads'
import { monotonicMs } from './clock.ts'
import { encodeFrame, FrameDecoder, isPooled, MAX_FRAME_BYTES, returnBuffer } from './frame.ts'
import type { Packet, Transport } from './protocol.ts'

/** How long messages may be taken within one turn of the event loop, in ms. */
const TURN_MS = 5
/** So many are taken without looking at the clock. */
const FREE_MESSAGES = 8

/**
 * One turn of this thread's event loop. Node delivers up to a thousand messages of a port in one turn, those included
 * that arrive meanwhile: two sides that reply fast would block timers, sockets and other ports for half a second.
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

export interface SocketTransportOptions {
  readonly maxFrameBytes: number
  /**
   * Stop reading while the other side leaves much unread. Only one side may: two could wait for each other for ever.
   */
  readonly readOnlyWhenDrained: boolean
  /**
   * Pause after a long packet that took long to handle, so the other side gets a quarter of this thread, not all of it.
   */
  readonly pausesAfterLong?: boolean
}

/** What may stay unread without a pause. With less, long strings would only travel in one direction at a time. */
const UNREAD_BYTES = 8 * 1024 * 1024

/** Shorter packets take no time to speak of. */
const LONG_CHARS = 256 * 1024
/** Longer than packets of honest code take, even when many calls return at once. */
const LONG_MS = 20
const PAUSE_PER_MS = 3
const READ_BUFFER_BYTES = 256 * 1024

/** Contract: keeps nothing of the chunk, and reads only its first `length` bytes. */
type Take = (chunk: Buffer, length: number) => void

/**
 * Over any socket. While it flows and nothing is buffered, chunks are taken as the socket pushes them: passing each
 * through the stream makes a guarded call in a process 10 % slower (p50). In every other state, the stream delivers
 * them.
 */
export function socketTransport(socket: Socket, options: SocketTransportOptions): Transport {
  return transportOver(socket, options, (take) => {
    socket.on('data', (chunk: Buffer) => take(chunk, chunk.length))
    const push = socket.push.bind(socket)
    socket.push = (chunk: unknown, encoding?: BufferEncoding) => {
      const isDirect = Buffer.isBuffer(chunk) && socket.readableFlowing === true && socket.readableLength === 0
      if (!isDirect) return push(chunk, encoding)
      take(chunk, chunk.length)
      return true
    }
  })
}

/**
 * Over a descriptor that is a socket. It reads into one buffer (`onread`) instead of a stream, which would take a fifth
 * of a short call. Nothing is read before `listen`.
 */
export function descriptorTransport(fd: number): Transport {
  let take: Take = () => undefined
  // Not imported: a thread in the host's process runs the same script and does not need it.
  const { Socket } = process.getBuiltinModule('node:net')
  const socket = new Socket({
    fd,
    onread: {
      buffer: Buffer.alloc(READ_BUFFER_BYTES),
      callback(length, buffer) {
        take(buffer as Buffer, length)
        return true
      },
    },
  })
  socket.pause()
  return transportOver(socket, { maxFrameBytes: MAX_FRAME_BYTES, readOnlyWhenDrained: false }, (given) => {
    take = given
    socket.resume()
  })
}

function transportOver(
  socket: Socket,
  { maxFrameBytes, readOnlyWhenDrained, pausesAfterLong = false }: SocketTransportOptions,
  read: (take: Take) => void,
): Transport {
  const decoder = new FrameDecoder(maxFrameBytes)
  let isPaused = false
  const pause = (ms: number): void => {
    isPaused = true
    socket.pause()
    setTimeout(() => {
      isPaused = false
      if (socket.writableLength <= UNREAD_BYTES) socket.resume()
    }, ms).unref()
  }
  return {
    get queuedBytes() {
      return socket.writableLength
    },
    send(packet) {
      if (!socket.writable) return
      const frame = encodeFrame(packet)
      if (isPooled(frame)) socket.write(frame, (error) => error ?? returnBuffer(frame))
      else socket.write(frame)
      if (readOnlyWhenDrained && socket.writableLength > UNREAD_BYTES) socket.pause()
    },
    listen(receiver) {
      let closed = false
      const close = (error?: Error): void => {
        if (closed) return
        closed = true
        socket.destroy()
        receiver.closed(error)
      }
      const deliver = (packet: Packet): void => {
        if (closed) return
        if (!pausesAfterLong || charsIn(packet) < LONG_CHARS) return receiver.packet(packet)
        const began = performance.now()
        receiver.packet(packet)
        const took = performance.now() - began
        if (took > LONG_MS) pause(took * PAUSE_PER_MS)
      }
      socket.on('drain', () => {
        if (!isPaused) socket.resume()
        receiver.drained?.()
      })
      // A killed process resets the connection; `close` follows.
      socket.on('error', () => undefined)
      socket.on('close', () => close())
      read((chunk, length) => {
        if (closed) return
        try {
          decoder.push(chunk, deliver, length)
        } catch (error) {
          close(error as Error)
        }
      })
    },
    close() {
      socket.destroy()
    },
  }
}

function charsIn(packet: Packet): number {
  if (typeof packet === 'string') return packet.length
  let chars = 0
  for (const string of packet) chars += string.length
  return chars
}
