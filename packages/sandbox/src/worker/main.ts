// The thread of a compartment. Where it stands makes a difference to how it is spoken to, and to nothing else.
import { parentPort, workerData } from 'node:worker_threads'
import { portTransport } from '../wire/port-transport.ts'
import { descriptorTransport } from '../wire/socket-transport.ts'
import type { Transport, TransportReceiver } from '../wire/transport.ts'
import type { CompartmentTask, CompartmentTerms, WorkerStart } from '../wire/worker-start.ts'
import { CHANNEL_FD } from '../wire/worker-start.ts'
import type { Serve } from './prepare.ts'
import { prepare } from './prepare.ts'

const { exit } = process
// Made before lockdown, and not read before the thread is prepared.
const socket = (workerData as WorkerStart).inHull ? descriptorTransport(CHANNEL_FD) : undefined

/** Settles when the thread is locked down and waits. */
export const prepared = prepare()

/** Piscina runs it, in the host's own process, and calls the thread ready when it is there. It lasts as long as the thread. */
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
