import type { Socket } from 'node:net'
import { encodeFrame, FrameDecoder } from './frame.ts'
import type { Transport, TransportReceiver } from './transport.ts'

export interface SocketTransportOptions {
  readonly maxFrameBytes: number
  /**
   * Stop reading while the other side does not take what was sent. Only one side may do so: if both did, each could wait
   * for the other to read.
   */
  readonly readOnlyWhenDrained: boolean
}

export function socketTransport(socket: Socket, options: SocketTransportOptions): Transport {
  const decoder = new FrameDecoder(options.maxFrameBytes)
  return {
    get queuedBytes() {
      return socket.writableLength
    },
    send(packet) {
      if (!socket.writable) return
      if (!socket.write(encodeFrame(packet)) && options.readOnlyWhenDrained) socket.pause()
    },
    listen(receiver: TransportReceiver) {
      let closed = false
      const close = (error?: Error): void => {
        if (closed) return
        closed = true
        socket.destroy()
        receiver.closed(error)
      }
      const deliver = (packet: string): void => {
        if (!closed) receiver.packet(packet)
      }
      socket.on('data', (chunk: Buffer) => {
        if (closed) return
        try {
          decoder.push(chunk, deliver)
        } catch (error) {
          close(error as Error)
        }
      })
      socket.on('drain', () => socket.resume())
      // A reset is how a killed process hangs up; it says no more than the close that follows.
      socket.on('error', () => undefined)
      socket.on('close', () => close())
    },
    close() {
      socket.destroy()
    },
  }
}
