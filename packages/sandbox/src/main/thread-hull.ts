import { MessageChannel, Worker } from 'node:worker_threads'
import type { CompartmentLimits } from '@bulkhead/contract'
import type { WorkerStart } from '../worker/start.ts'
import { portTransport } from '../wire/port-transport.ts'
import type { Hull, HullExit } from './hull.ts'
import type { Image } from './image.ts'

/** A worker of the host's own process. It removes ambient power; it cannot protect the host's time and memory. */
export function startThreadHull(image: Image, limits: CompartmentLimits): Hull {
  const { port1: ours, port2: theirs } = new MessageChannel()
  const start: WorkerStart = { modules: image.modules, entry: image.entry, authorUrl: image.authorUrl, limits, port: theirs }
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(image.boot)}`), {
    // -i: without it the permission set silently includes the working folder.
    execArgv: ['-i', '--permission'],
    env: {},
    argv: [],
    stdin: false,
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: limits.heapMb },
    workerData: start,
    transferList: [theirs],
  })
  let killed = false
  let failure: HullExit | undefined
  worker.on('error', (error: unknown) => {
    const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
    failure = code === 'ERR_WORKER_OUT_OF_MEMORY'
      ? { kind: 'memory', text: `more than ${limits.heapMb} MB of heap` }
      : { kind: 'crashed', text: `an error nobody caught: ${typeof message === 'string' ? message.slice(0, 2_000) : 'it cannot be printed'}` }
  })
  const exited = new Promise<HullExit>((resolve) => {
    worker.once('exit', (code) => {
      ours.close()
      resolve(failure ?? (killed ? { kind: 'killed' } : { kind: 'crashed', text: `its thread ended with code ${code}` }))
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
