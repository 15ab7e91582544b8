// The thread of a compartment. In a child process it talks over a socket, in the host's process over a port.
import { parentPort, workerData } from 'node:worker_threads'
import { CHANNEL_FD } from '../wire/message.ts'
import { portTransport } from '../wire/port-transport.ts'
import type { CompartmentTask, CompartmentTerms, Transport, TransportReceiver, WorkerStart } from '../wire/protocol.ts'
import { descriptorTransport } from '../wire/socket-transport.ts'
import { prepare, type Serve } from './prepare.ts'

const { exit } = process
// Created before lockdown, and not read before the thread is prepared.
const socket = (workerData as WorkerStart).inHull ? descriptorTransport(CHANNEL_FD) : undefined

/** Resolves when the thread is locked down and waits. */
export const prepared = prepare()

/** The Piscina task in the host's process. It lasts as long as the thread. */
export const task = prepared.then((serve) => ({ port, terms }: CompartmentTask): Promise<never> => {
  serve(portTransport(port), terms)
  return new Promise(() => undefined)
})

if (socket !== undefined) {
  void prepared.then((serve) => {
    serveAfterTerms(socket, serve)
    parentPort!.postMessage('ready')
  })
}

function serveAfterTerms(over: Transport, serve: Serve): void {
  let receiver: TransportReceiver | undefined
  over.listen({
    packet(packet) {
      if (receiver !== undefined) return receiver.packet(packet)
      const rest: Transport = {
        get queuedBytes() {
          return over.queuedBytes
        },
        send: (sent) => over.send(sent),
        listen: (given) => void (receiver = given),
        close: () => over.close(),
      }
      serve(rest, JSON.parse(packet as string) as CompartmentTerms)
    },
    drained: () => receiver?.drained?.(),
    closed: (error) => receiver === undefined ? exit(0) : receiver.closed(error),
  })
}
