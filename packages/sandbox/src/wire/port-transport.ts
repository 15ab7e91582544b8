import type { MessagePort } from 'node:worker_threads'
import type { Transport } from './transport.ts'

/** Between threads of one process: each packet is posted as it is. The queue of a port cannot be measured. */
export function portTransport(port: MessagePort): Transport {
  return {
    queuedBytes: 0,
    send(packet) {
      port.postMessage(packet)
    },
    listen(receiver) {
      port.on('message', (packet: unknown) => receiver.packet(packet))
      port.on('messageerror', (error: Error) => receiver.closed(error))
      port.once('close', () => receiver.closed())
    },
    close() {
      port.close()
    },
  }
}
