import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { MessageChannel, receiveMessageOnPort, Worker, type WorkerOptions } from 'node:worker_threads'

/** The modules of a thread: where each import leads, and the source of each. */
export interface Recording {
  readonly resolved: ReadonlyMap<string, { readonly url: string; readonly format: string | undefined }>
  readonly sources: ReadonlyMap<string, { readonly format: string; readonly source: string | Uint8Array }>
}

/** `workerData` of a thread with hooks. */
export interface ThreadData {
  readonly entry: string
  /** Entries that are only loaded. */
  readonly others?: readonly string[]
  /** What another thread has read. */
  readonly recording?: Recording | undefined
  /** What this thread has read so far, if it got no recording. */
  made?: Recording
}

/**
 * Runs first in the thread. Without a recording it loads from disk and makes one; with one it loads nothing else.
 */
const HOOKS = `
const { isBuiltin, registerHooks } = process.getBuiltinModule('node:module')
const { workerData } = process.getBuiltinModule('node:worker_threads')
const { readFileSync } = process.getBuiltinModule('node:fs')
const { recording } = workerData
const { resolved, sources } = recording ?? (workerData.made = { resolved: new Map(), sources: new Map() })
const missing = (what) => new Error('The image of this thread does not have ' + what + '.')
// What an import means depends on the folder of its parent. Node asks once for the same one of a folder, and the URL of
// this script depends on the working directory.
const keyOf = (specifier, { parentURL, conditions }) => URL.canParse(specifier)
  ? specifier : [parentURL && new URL('.', parentURL).href, conditions.includes('require'), specifier].join(' ')
registerHooks({
  resolve(specifier, context, next) {
    if (isBuiltin(specifier)) return next(specifier, context)
    const key = keyOf(specifier, context)
    const known = resolved.get(key)
    if (known) return { ...known, shortCircuit: true }
    if (recording) throw missing(specifier)
    const { url, format } = next(specifier, context)
    resolved.set(key, { url, format: format ?? undefined })
    return { url, format }
  },
  load(url, context, next) {
    if (url.startsWith('node:')) return next(url, context)
    const known = sources.get(url)
    if (known) return { ...known, shortCircuit: true }
    if (recording) throw missing(url)
    const loaded = next(url, context)
    const source = loaded.source ?? readFileSync(new URL(url), 'utf8')
    sources.set(url, { format: loaded.format, source })
    return { ...loaded, source }
  },
})
`

/** An option of Node that runs the hooks before the entry of a thread. */
export const HOOKS_FIRST: readonly string[] = ['--import', `data:text/javascript,${encodeURIComponent(HOOKS)}`]

/** The script of a thread that runs its entry once. */
const RUN_ENTRY = `${HOOKS}
const { entry, port, data } = workerData
import(entry).then(({ run }) => {
  port?.postMessage(workerData.made)
  port?.close()
  return data === undefined ? undefined : run(data.value)
}).catch((error) => { setImmediate(() => { throw error }) })
`

/**
 * The environment of a thread that gets only the compile cache of the process, if there is one. It halves the CPU that
 * loading its modules takes.
 */
export function compileCacheEnvironment(): NodeJS.ProcessEnv {
  const folder = getCompileCacheDir()
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) }
}

/** Every image of the process. */
export const images = new Set<ThreadImage>()

/**
 * The code of a thread, read from disk once. Threads that start later run what was read, whatever the files hold by
 * then. The entry exports `run`, which receives the data of the thread, and imports everything it needs statically.
 */
export class ThreadImage {
  readonly entry: string
  #recording: Recording | undefined
  #loading: Promise<void> | undefined

  constructor(entry: URL) {
    this.entry = entry.href
    images.add(this)
  }

  /** Whether the code was read, so that threads no longer read it from disk. */
  get isLoaded(): boolean {
    return this.#recording !== undefined
  }

  /** What was read. */
  get recording(): Recording | undefined {
    return this.#recording
  }

  /** Takes what a thread has read. Contract: the thread had no untrusted input before. */
  keep(recording: Recording): void {
    this.#recording ??= recording
  }

  /**
   * Reads the code. From then on no thread reads it from disk. Rejects where no thread can be started or the code
   * cannot be loaded.
   */
  load(): Promise<void> {
    if (this.#recording) return Promise.resolve()
    this.#loading ??= this.#record().finally(() => void (this.#loading = undefined))
    return this.#loading
  }

  /** Starts a thread. Throws where none can be started. */
  start(data: unknown, options: WorkerOptions = {}): Worker {
    return this.#spawn({ value: data }, options)
  }

  async #record(): Promise<void> {
    const worker = this.#spawn(undefined, { env: compileCacheEnvironment(), stdout: true, stderr: true })
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    worker.once('error', reject).once('exit', () => resolve())
    await promise
    if (!this.#recording) throw new Error('The thread ended before its code was loaded.')
  }

  /** Without data the thread loads its code and ends. */
  #spawn(data: { readonly value: unknown } | undefined, options: WorkerOptions): Worker {
    const { entry } = this
    if (this.#recording) {
      return new Worker(RUN_ENTRY, { ...options, eval: true, workerData: { entry, recording: this.#recording, data } })
    }
    const { port1, port2 } = new MessageChannel()
    const transferList = [port2, ...(options.transferList ?? [])]
    const workerData = { entry, port: port2, data }
    const worker = new Worker(RUN_ENTRY, { ...options, eval: true, workerData, transferList })
    const receive = (recording: Recording): void => this.keep(recording)
    port1.once('message', receive).unref()
    // The exit can be reported before the message that the thread sent first.
    worker.prependOnceListener('exit', () => {
      const left = receiveMessageOnPort(port1) as { message: Recording } | undefined
      if (left) receive(left.message)
    })
    return worker
  }
}
