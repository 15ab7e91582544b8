import { MessageChannel, Worker } from 'node:worker_threads'
import type { CompartmentLimits } from '@bulkhead/contract'
import { portTransport } from '../wire/port-transport.ts'
import type { WorkerStart } from '../wire/worker-start.ts'
import type { Hull, HullExit } from './hull.ts'
import { exitOf, workerOptions } from './hull.ts'
import type { Image } from './image.ts'

/** A worker of the host's own process. It removes ambient power; it cannot protect the host's time and memory. */
export function startThreadHull({ boot, modules, entry, authorUrl }: Image, limits: CompartmentLimits): Hull {
  const { port1: ours, port2: theirs } = new MessageChannel()
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(boot)}`), {
    ...workerOptions(limits),
    workerData: { modules, entry, authorUrl, limits, port: theirs } satisfies WorkerStart,
    transferList: [theirs],
  })
  let killed = false
  let failure: HullExit | undefined
  worker.on('error', (error: unknown) => {
    const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
    failure = exitOf(
      {
        type: 'error',
        ...(typeof code === 'string' && { code }),
        ...(typeof message === 'string' && { message: message.slice(0, 2_000) }),
      },
      limits,
    )
  })
  const exited = new Promise<HullExit>((resolve) => {
    worker.once('exit', (code) => {
      ours.close()
      resolve(failure ?? (killed ? { kind: 'killed' } : exitOf({ type: 'exit', code }, limits)))
    })
  })
  return {
    transport: portTransport(ours),
    exited,
    kill() {
      killed = true
      void worker.terminate()
    },
  }
}
