import { MessageChannel, Worker } from 'node:worker_threads'
import type { CompartmentLimits, CompartmentUse } from '@bulkhead/contract'
import { DEFAULT_LIMITS } from '@bulkhead/contract'
import { errorReport } from '../wire/errors.ts'
import { portTransport } from '../wire/transport.ts'
import type { CompartmentTask, WorkerStart } from '../wire/protocol.ts'
import type { EmptyHull, Hull, HullExit, HullShape, StartHull } from './hull.ts'
import { exitOf, termsOf, threadOptions } from './hull.ts'
import type { Image } from './image.ts'

/** Threads in the host's own process. They remove ambient access, but do not protect the host's time and memory. */
export const threadStarter = (image: Image): StartHull => (shape, spare) => {
  const workerData: WorkerStart = { author: image.author, script: image.script, spare, inHull: false }
  return new ThreadHull(new Worker(image.boot, { ...threadOptions(shape), eval: true, workerData }), shape)
}

class ThreadHull implements EmptyHull {
  readonly ready: Promise<boolean>
  readonly exited: Promise<HullExit>
  readonly #worker: Worker
  readonly #shape: HullShape
  #limits: CompartmentLimits
  #killed = false

  constructor(worker: Worker, shape: HullShape) {
    const ready = Promise.withResolvers<boolean>()
    const exited = Promise.withResolvers<HullExit>()
    let failure: HullExit | undefined
    this.#shape = shape
    this.ready = ready.promise
    this.exited = exited.promise
    this.#worker = worker
    this.#limits = { ...DEFAULT_LIMITS, ...shape }
    worker.unref()
    worker.once('message', () => ready.resolve(true))
    worker.on('error', (error: unknown) => {
      failure = exitOf(errorReport(error), this.#limits)
    })
    worker.once('exit', (code) => {
      ready.resolve(false)
      exited.resolve(failure ?? (this.#killed ? { kind: 'killed' } : exitOf({ type: 'exit', code }, this.#limits)))
    })
  }

  fits({ heapMb }: HullShape): boolean {
    return heapMb === this.#shape.heapMb
  }

  assign(limits: CompartmentLimits): Hull {
    const { port1: ours, port2: theirs } = new MessageChannel()
    this.#limits = limits
    this.#worker.ref()
    this.#worker.postMessage({ port: theirs, terms: termsOf(limits) } satisfies CompartmentTask, [theirs])
    void this.exited.then(() => ours.close())
    return {
      transport: portTransport(ours), ready: this.ready, exited: this.exited, use: () => this.#use(),
      kill: () => this.kill(),
    }
  }

  /** Its thread answers for its heap, and may be busy. */
  async #use(): Promise<CompartmentUse | undefined> {
    try {
      const answers = Promise.all([this.#worker.getHeapStatistics(), this.#worker.cpuUsage()])
      const [{ total_heap_size: heap, external_memory: external }, { user, system }] = await Promise.race([answers, tooBusy()])
      return { memoryBytes: heap + external, cpuMs: (user + system) / 1_000 }
    } catch {
      return undefined
    }
  }

  kill(): void {
    this.#killed = true
    // Keeps the host alive until the end.
    this.#worker.ref()
    void this.#worker.terminate()
  }
}

const ANSWER_MS = 500

const tooBusy = (): Promise<never> => new Promise((_resolve, reject) => {
  setTimeout(() => reject(new Error('The thread is busy.')), ANSWER_MS).unref()
})
