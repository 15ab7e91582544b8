import { getCompileCacheDir } from 'node:module'
import type { Piscina } from 'piscina'
import { onAbort } from './deadlines.ts'
import { messageOf } from './error-message.ts'
import type { Task, TaskResult, TaskStart } from './pool-thread.ts'
import {
  compileCacheEnvironment, HOOKS_FIRST, images, type Recording, ThreadImage, type ThreadData,
} from './thread-image.ts'

export interface PoolOptions {
  readonly heapMb: number
  /** How many tasks run at once, each in its own thread. */
  readonly threads: number
  /** How many more tasks may wait. */
  readonly waiting: number
  /** A thread is replaced after so many tasks. With one, no task meets what another left behind. */
  readonly tasksPerThread: number
  /** A thread without a task ends after this time. Default: 5 seconds. */
  readonly idleMs?: number
  /** Further options of Node for the threads. */
  readonly execArgv?: readonly string[]
}

export interface TaskLimits {
  /** Wall-clock time in a thread that is ready. */
  readonly deadlineMs: number
  /** Processor time, which a busy machine does not use up. */
  readonly cpuMs?: number
  /** Ends the task, also after it has begun. */
  readonly signal?: AbortSignal | undefined
}

/**
 * `busy`: too many tasks wait. `start`: no thread could be started. In both cases nothing is known about the question.
 * `deadline`, `cpu` and `memory` are limits that the task exceeded, `ended`: its thread ended, `failed`: it threw.
 */
export type PoolFault = 'busy' | 'start' | 'deadline' | 'cpu' | 'memory' | 'ended' | 'failed'

export class PoolError extends Error {
  override readonly name = 'PoolError'
  readonly fault: PoolFault

  constructor(fault: PoolFault, message: string) {
    super(message)
    this.fault = fault
  }
}

type Work = Pick<Task, 'question'>

/** A thread that is not ready after this time has failed. */
const START_MS = 60_000
const IDLE_MS = 5_000

/**
 * Work on untrusted input in threads that have nothing but their code: no files, network, processes, environment or
 * input. The entry exports `run`, which gets a question and returns an answer, and imports everything it needs
 * statically. Threads start with the first task; after that, or after `load`, no code is read from disk.
 *
 * Each kind of work has a pool of its own, so that a document cannot change how a signature is verified, and a task
 * never waits for one of another kind.
 */
export class WorkPool<Question, Answer> {
  readonly #image: ThreadImage
  readonly #options: PoolOptions
  #idle: PoolThread[] = []
  readonly #waiting = new Set<() => void>()
  #running = 0

  constructor(entry: URL, options: PoolOptions) {
    this.#image = new ThreadImage(entry)
    this.#options = options
  }

  /** Whether the code was read, so that threads no longer read it from disk. */
  get isLoaded(): boolean {
    return this.#image.isLoaded
  }

  /** Reads the code. Rejects with PoolError if no thread can be started or the code cannot be loaded. */
  async load(): Promise<void> {
    if (!this.isLoaded) await loadImages([this.#image])
  }

  /** Rejects with PoolError, or with the reason of the signal. */
  async run(value: Question, limits: TaskLimits): Promise<Answer> {
    limits.signal?.throwIfAborted()
    await this.#turn(limits.signal)
    try {
      const { entry, recording } = this.#image
      this.#idle = this.#idle.filter((thread) => !thread.hasEnded)
      const thread = this.#idle.pop() ?? await startThread({ entry, recording }, this.#options)
      try {
        return await thread.run({ question: { value } }, limits) as Answer
      } finally {
        if (thread.recording) this.#image.keep(thread.recording)
        if (thread.hasEnded || thread.tasks >= this.#options.tasksPerThread) thread.end()
        else this.#idle.push(thread)
      }
    } finally {
      const [next] = this.#waiting
      if (next === undefined) this.#running--
      else next()
    }
  }

  /** The queue is here, because that of Piscina has no bound for tasks with a signal. */
  async #turn(signal: AbortSignal | undefined): Promise<void> {
    const { threads, waiting } = this.#options
    if (this.#running < threads) {
      this.#running++
      return
    }
    if (this.#waiting.size >= waiting) throw new PoolError('busy', `${waiting} others wait already; try again later`)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const take = (): void => {
      this.#waiting.delete(take)
      resolve()
    }
    this.#waiting.add(take)
    const forget = signal && onAbort(signal, () => {
      if (this.#waiting.delete(take)) reject(signal.reason as Error)
    })
    await promise.finally(forget)
  }
}

const THREAD = new URL('./pool-thread.ts', import.meta.url)

/**
 * Reads the code of all threads that may start later, in one thread. Rejects with PoolError if none can be started or
 * some code cannot be loaded.
 */
export async function loadImages(some: Iterable<ThreadImage> = images): Promise<void> {
  const missing = [...some].filter(({ isLoaded }) => !isLoaded)
  if (missing.length === 0) return
  const thread = await startThread({ entry: THREAD.href, others: missing.map(({ entry }) => entry) }, { heapMb: 512 })
  try {
    await thread.run({}, { deadlineMs: START_MS })
    for (const image of missing) if (!thread.failed.has(image.entry)) image.keep(thread.recording!)
    const [why] = thread.failed.values()
    if (why !== undefined) throw new PoolError('start', why)
  } finally {
    thread.end()
  }
}

async function startThread(
  data: ThreadData, options: Pick<PoolOptions, 'heapMb' | 'idleMs' | 'execArgv'>,
): Promise<PoolThread> {
  // Loaded late: most processes never need it.
  const { Piscina: Threads } = await import('piscina').catch((error: unknown) => {
    throw new PoolError('start', messageOf(error))
  })
  const { heapMb, idleMs = IDLE_MS, execArgv = [] } = options
  const rights = rightsToLoad()
  const piscina: Piscina<Task, TaskResult> = new Threads({
    filename: THREAD.href, name: 'task', minThreads: 0, maxThreads: 1, idleTimeout: idleMs, env: rights.env,
    execArgv: [...rights.execArgv, ...HOOKS_FIRST, ...execArgv],
    workerData: data,
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
    // Otherwise a thread that waits for a task blocks its event loop.
    atomics: 'disabled', recordTiming: false, trackUnmanagedFds: false,
  })
  return new PoolThread(piscina, heapMb)
}

/**
 * What a thread may do until its code is loaded. It shares the compile cache of the process, because compiling takes a
 * large part of its start.
 */
function rightsToLoad(): { readonly env: NodeJS.ProcessEnv; readonly execArgv: readonly string[] } {
  const execArgv = ['--permission', '--allow-fs-read=*']
  const folder = getCompileCacheDir()
  // A star in an allowed path is a wildcard.
  if (folder === undefined || folder.includes('*')) return { env: {}, execArgv }
  return { env: compileCacheEnvironment(), execArgv: [...execArgv, `--allow-fs-write=${folder}`] }
}

/**
 * One thread. A Piscina of several does not tell which thread runs a task, and forgets the tasks in its queue when a
 * thread dies while it starts.
 */
class PoolThread {
  readonly #piscina: Piscina<Task, TaskResult>
  readonly #heapMb: number
  tasks = 0
  /** Also of an idle one. Piscina could start it again, but from disk. */
  hasEnded = false
  recording: Recording | undefined
  failed: TaskStart['failed'] = new Map()

  constructor(piscina: Piscina<Task, TaskResult>, heapMb: number) {
    this.#piscina = piscina
    this.#heapMb = heapMb
    // Sent before the thread gets untrusted input, so the first one counts.
    piscina.once('message', ({ recording, failed }: TaskStart) => Object.assign(this, { recording, failed }))
    piscina.on('workerDestroy', () => void (this.hasEnded = true))
    // Without a listener an error of an idle thread would end the process.
    piscina.on('error', () => undefined)
  }

  async run(work: Work, limits: TaskLimits): Promise<unknown> {
    const piscina = this.#piscina
    const task = { ...work, turn: this.tasks++ }
    const watch = new TaskWatch(limits, () => piscina.threads[0]?.cpuUsage())
    const onStart = (start: TaskStart): void => void (start.turn === task.turn && watch.begin(start.cpuMs))
    const onError = (error: unknown): void => watch.end(new PoolError('start', messageOf(error)))
    piscina.on('message', onStart).once('error', onError)
    try {
      const result = await piscina.run(task, { signal: watch.ended })
      // It was sent before, over another port.
      await watch.begun.promise
      watch.check(result.cpuMs)
      if (watch.reason !== undefined) throw watch.reason as Error
      if ('value' in result) return result.value
      throw new PoolError('failed', result.fault)
    } catch (error) {
      this.hasEnded ||= !(error instanceof PoolError && error.fault === 'failed')
      throw watch.reason ?? (error instanceof PoolError ? error : this.#faultOf(error, watch.hasBegun))
    } finally {
      watch.stop()
      piscina.off('message', onStart).off('error', onError)
    }
  }

  #faultOf(error: unknown, hasBegun: boolean): PoolError {
    const isMemory = (error as { readonly code?: unknown }).code === 'ERR_WORKER_OUT_OF_MEMORY'
    if (isMemory) return new PoolError('memory', `it needs more than ${this.#heapMb} MB of memory`)
    return new PoolError(hasBegun ? 'ended' : 'start', messageOf(error))
  }

  end(): void {
    // If no thread could be started, Piscina still has the task, and would reject a promise that nothing awaits.
    if (this.#piscina.threads.length > 0) void this.#piscina.destroy()
  }
}

type CpuUsage = Promise<NodeJS.CpuUsage> | undefined

/** The limits of one task. */
class TaskWatch {
  readonly #limits: TaskLimits
  readonly #usage: () => CpuUsage
  readonly #abort = new AbortController()
  readonly #forget: (() => void) | undefined
  #timer: NodeJS.Timeout
  #poll: NodeJS.Timeout | undefined
  readonly begun = Promise.withResolvers<void>()
  hasBegun = false
  /** Why the task was ended. */
  reason: unknown

  constructor(limits: TaskLimits, usage: () => CpuUsage) {
    this.#limits = limits
    this.#usage = usage
    this.#timer = setTimeout(() => this.end(new PoolError('start', `it was not ready within ${START_MS} ms`)), START_MS)
    this.#forget = limits.signal && onAbort(limits.signal, () => this.end(limits.signal!.reason))
  }

  get ended(): AbortSignal {
    return this.#abort.signal
  }

  /** `before`: the processor time of the thread. */
  begin(before: number): void {
    const { deadlineMs, cpuMs } = this.#limits
    this.hasBegun = true
    this.begun.resolve()
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.end(new PoolError('deadline', `it took longer than ${deadlineMs} ms`)), deadlineMs)
    if (cpuMs === undefined) return
    this.#poll = setInterval(() => void this.#usage()?.then(
      ({ user, system }) => this.check((user + system) / 1_000 - before), () => undefined), cpuMs)
  }

  /** Ends the task if it used more processor time than it may. */
  check(used: number): void {
    const { cpuMs = Infinity } = this.#limits
    if (used > cpuMs) this.end(new PoolError('cpu', `it took more than ${cpuMs} ms of processor time`))
  }

  end(reason: unknown): void {
    this.reason ??= reason
    this.#abort.abort()
  }

  stop(): void {
    clearTimeout(this.#timer)
    clearInterval(this.#poll)
    this.#forget?.()
  }
}
