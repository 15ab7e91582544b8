import type { MessagePort } from 'node:worker_threads'
import { takeDirectly } from './direct-port.ts'
import { isHandover, TravellingRooms, type Handover } from './transferable-buffers.ts'
import type { Packet, Transport, TransportReceiver } from './transport.ts'
import { Turn } from './turn.ts'

/** Of this thread, and so of all its ports. */
const turn = new Turn()

/**
 * Between threads of one process: short packets are posted as they are, long ones in rooms that are handed over. The queue of a port
 * cannot be measured.
 */
export function portTransport(port: MessagePort): Transport {
  const rooms = new TravellingRooms()
  let isClosed = false
  /** Contract: throws FrameFault. */
  const unpack = (handover: Handover): Packet => {
    const packet = rooms.unpack(handover)
    const owed = rooms.owed()
    if (owed) port.postMessage(owed, [owed])
    return packet
  }
  const hear = (message: unknown, receiver: TransportReceiver): void => {
    if (rooms.isAwaited(message)) return rooms.keep(message)
    let packet = message
    try {
      if (isHandover(message)) packet = unpack(message)
    } catch (error) {
      return receiver.closed(error as Error)
    }
    receiver.packet(packet)
  }
  return {
    queuedBytes: 0,
    send(packet) {
      const handover = rooms.pack(packet)
      if (handover === undefined) port.postMessage(packet)
      else port.postMessage(handover, [handover[0]])
    },
    listen(receiver) {
      const take = (message: unknown): void => {
        if (typeof message === 'string') receiver.packet(message)
        else hear(message, receiver)
        if (!turn.isLong() || isClosed) return
        // A port that nobody listens to keeps what comes.
        port.off('message', take)
        turn.inTheNext(() => {
          if (!isClosed) port.on('message', take)
        })
      }
      takeDirectly(port, take)
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
