import { Buffer } from 'node:buffer'
import type { Socket } from 'node:net'
import process from 'node:process'
import { READ_BUFFER_BYTES, readDirectly } from './direct-read.ts'
import { giveBack, isInRoom } from './buffer-pool.ts'
import { encodeFrame, FrameDecoder, MAX_FRAME_BYTES } from './frame.ts'
import type { Packet, Transport } from './transport.ts'

export interface SocketTransportOptions {
  readonly maxFrameBytes: number
  /**
   * Stop reading while the other side leaves much of what was sent. Only one side may do so: if both did, each could wait
   * for the other to read.
   */
  readonly readOnlyWhenDrained: boolean
  /** Stop reading after a long packet that took long: by these the other side gets a quarter of this thread, not all of it. */
  readonly restsAfterLong?: boolean
}

/** What may be left without a stop. With as little as a socket holds, long texts would only ever go one way at a time. */
const UNREAD_BYTES = 8 * 1024 * 1024

/** Shorter packets take no time to speak of. */
const LONG_CHARS = 256 * 1024
/** More than packets of honest code take, also when many calls answer at once. */
const LONG_MS = 20
const REST_PER_MS = 3

/** Keeps nothing of what it is given, and looks at no more of it than it is told. */
type Take = (chunk: Buffer, length: number) => void

export function socketTransport(socket: Socket, options: SocketTransportOptions): Transport {
  return transportOver(socket, options, (take) => {
    if (!readDirectly(socket, take)) socket.on('data', (chunk: Buffer) => take(chunk, chunk.length))
  })
}

/**
 * Over a socket that is open already. It is read into one buffer from beginning to end, past the machinery of streams, which
 * would take a fifth of the time of a short call. Nothing is read before someone listens.
 */
export function descriptorTransport(fd: number): Transport {
  let take: Take = () => undefined
  // Not imported: the thread of a compartment in the host's process, which runs the same script, would pay for it.
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
  { maxFrameBytes, readOnlyWhenDrained, restsAfterLong = false }: SocketTransportOptions,
  read: (take: Take) => void,
): Transport {
  const decoder = new FrameDecoder(maxFrameBytes)
  let isResting = false
  const rest = (ms: number): void => {
    isResting = true
    socket.pause()
    setTimeout(() => {
      isResting = false
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
      if (isInRoom(frame)) socket.write(frame, (error) => error ?? giveBack(frame))
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
        if (!restsAfterLong || charsIn(packet) < LONG_CHARS) return receiver.packet(packet)
        const began = performance.now()
        receiver.packet(packet)
        const took = performance.now() - began
        if (took > LONG_MS) rest(took * REST_PER_MS)
      }
      socket.on('drain', () => {
        if (!isResting) socket.resume()
        receiver.drained?.()
      })
      // A reset is how a killed process hangs up; it says no more than the close that follows.
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
  for (const text of packet) chars += text.length
  return chars
}
