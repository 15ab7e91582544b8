import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import type { CompartmentLimits } from '@bulkhead/contract'
import { DEFAULT_LIMITS } from '@bulkhead/contract'
import { errorReport } from '../wire/errors.ts'
import { portTransport } from '../wire/transport.ts'
import type { CompartmentTask, WorkerStart } from '../wire/protocol.ts'
import type { EmptyHull, Hull, HullExit, HullShape, StartHull } from './hull.ts'
import { exitOf, termsOf, threadOptions } from './hull.ts'
import type { Image } from './image.ts'

/**
 * Threads in the host's own process. They remove ambient access, but do not protect the host's time and memory.
 *
 * Each is a Piscina with one thread and one task. With several threads, Piscina binds a task to a thread only when that
 * is ready: a task whose thread dies before would wait forever.
 */
export async function threadStarter(image: Image): Promise<StartHull> {
  const { bootFile, author } = image
  // Loaded late: it takes as long as starting a thread.
  const { Piscina } = await import('piscina')
  const piscinaFolder = dirname(dirname(createRequire(import.meta.url).resolve('piscina')))
  const readable = [bootFile, join(piscinaFolder, 'package.json'), join(piscinaFolder, 'dist', 'worker.js')]
  const readRights = [bootFile, join(piscinaFolder, '*')].map((path) => `--allow-fs-read=${path}`)
  return (shape, spare) => {
    const { execArgv, ...options } = threadOptions(shape)
    const pool = new Piscina<CompartmentTask, never>({
      ...options,
      // Lockdown drops these rights, and the probe checks it.
      execArgv: [...execArgv, ...readRights],
      workerData: { author, script: image.script, spare, readable, inHull: false } satisfies WorkerStart,
      filename: bootFile,
      name: 'task',
      minThreads: 1,
      maxThreads: 1,
      idleTimeout: Infinity,
      // Otherwise a thread that waits for its task blocks its event loop.
      atomics: 'disabled',
      recordTiming: false,
    })
    // Piscina must not replace a thread that has ended.
    pool.options.minThreads = 0
    return new ThreadHull(pool, shape)
  }
}

type OneThread = Pick<import('piscina').Piscina<CompartmentTask, never>, 'run' | 'destroy' | 'threads' | 'on'>

class ThreadHull implements EmptyHull {
  readonly ready: Promise<boolean>
  readonly exited: Promise<HullExit>
  readonly #pool: OneThread
  readonly #shape: HullShape
  #limits: CompartmentLimits
  #killed = false
  #gone = false

  constructor(pool: OneThread, shape: HullShape) {
    const [thread] = pool.threads
    const ready = Promise.withResolvers<boolean>()
    const exited = Promise.withResolvers<HullExit>()
    let failure: HullExit | undefined
    this.#shape = shape
    this.ready = ready.promise
    this.exited = exited.promise
    this.#pool = pool
    this.#limits = { ...DEFAULT_LIMITS, ...shape }
    // The thread reports the same error.
    pool.on('error', () => undefined)
    thread!.once('message', () => ready.resolve(true))
    thread!.on('error', (error: unknown) => {
      failure = exitOf(errorReport(error), this.#limits)
    })
    thread!.once('exit', (code) => {
      this.#gone = true
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
    // Piscina types the list for another overload of `postMessage`.
    const transferList = [theirs] as never
    // The task ends with the thread. Without a thread, Piscina would start another.
    if (!this.#gone && !this.#killed) {
      this.#pool.run({ port: theirs, terms: termsOf(limits) }, { transferList }).catch(() => undefined)
    }
    void this.exited.then(() => ours.close())
    return { transport: portTransport(ours), ready: this.ready, exited: this.exited, kill: () => this.kill() }
  }

  kill(): void {
    this.#killed = true
    // Keeps the host alive until the end.
    for (const thread of this.#pool.threads) thread.ref()
    void this.#pool.destroy()
  }
}
