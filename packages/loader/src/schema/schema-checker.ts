import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { messageOf } from '@bulkhead/kit/error-message'
import { canonicalJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { ThreadImage } from '@bulkhead/kit/thread-image'
import { sha512 } from '../model/digest.ts'
import type { LoaderLimits } from '../model/limits.ts'
import type { SchemaCompiler, SchemaFault, SchemaVerdict } from './schema-compiler.ts'
import type { SchemaReply, SchemaRequest, SchemaWorkerMessage } from './schema-worker.ts'

type RequestBody = Omit<SchemaRequest, 'id'>
type ReplyBody = Omit<SchemaReply, 'id'>

interface Pending {
  readonly request: SchemaRequest
  readonly resolve: (reply: ReplyBody) => void
}

/** A thread that is not ready after this time is treated as failed. */
const START_MS = 60_000
/**
 * The limit of wall-clock time for a schema, as a multiple of its CPU time: a busy machine may give the thread little.
 */
const WALL_CLOCK_FACTOR = 12
/** The thread is terminated after this time without a request. The next request starts another. */
const IDLE_MS = 5_000

/** A server whose tools change makes the host start this thread, so its code is read before third-party code runs. */
export const schemaThread = new ThreadImage(new URL('./schema-worker.ts', import.meta.url))

/**
 * Compiles untrusted schemas, and checks values against them, in a worker thread without rights. A schema that exceeds
 * its CPU time or crashes the thread is refused, and the requests behind it continue in a new thread. The thread starts
 * with the first request and does not keep an idle process alive.
 */
export class SchemaWorkerClient {
  /** In the order of the requests, which is the order of the replies. */
  readonly #pending = new Map<number, Pending>()
  #worker: Worker | undefined
  #ready = false
  /** CPU time of the thread at its last message. */
  #cpuMs = 0
  readonly #image: ThreadImage
  #deadline: NodeJS.Timeout | undefined
  #cpuPoll: NodeJS.Timeout | undefined
  #nextId = 0

  constructor(image = schemaThread) {
    this.#image = image
  }

  /** Contract: never rejects, and resolves in bounded time. */
  request(body: RequestBody): Promise<ReplyBody> {
    const { promise, resolve } = Promise.withResolvers<ReplyBody>()
    const request = { id: this.#nextId++, ...body }
    this.#pending.set(request.id, { request, resolve })
    if (this.#worker === undefined) this.#start()
    else if (this.#ready) this.#worker.postMessage(request)
    if (this.#pending.size === 1) this.#watch()
    return promise
  }

  #start(): void {
    let worker: Worker
    try {
      worker = this.#image.start(null, { ...workerRights(), resourceLimits: { maxOldGenerationSizeMb: 512 } })
    } catch (error) {
      this.#failAll(`no thread can be started: ${messageOf(error).replace(/\.$/, '')}`)
      return
    }
    this.#worker = worker
    let reason = 'its thread ended'
    worker.on('message', (message: SchemaWorkerMessage) => {
      if (this.#worker === worker) this.#onMessage(message)
    })
    worker.on('error', (error) => void (reason = messageOf(error)))
    worker.on('exit', () => {
      if (this.#worker === worker) this.#abort(`cannot be compiled: ${reason}`)
    })
    this.#watch()
  }

  #onMessage({ reply, cpuMs }: SchemaWorkerMessage): void {
    if (reply) this.#onReply(reply, cpuMs - this.#cpuMs)
    else for (const { request } of this.#pending.values()) this.#worker?.postMessage(request)
    this.#ready = true
    this.#cpuMs = cpuMs
    this.#watch()
  }

  #onReply({ id, ...reply }: SchemaReply, usedMs: number): void {
    const pending = this.#pending.get(id)
    if (pending === undefined) return
    const { request: { limits: { schemaMs } }, resolve } = pending
    if (usedMs > schemaMs) {
      this.#refuse(pending, tooSlow(schemaMs))
      return
    }
    this.#pending.delete(id)
    resolve(reply)
  }

  /** Sets the timers for the first pending request, or for idleness. */
  #watch(): void {
    this.#stopTimers()
    if (this.#worker === undefined) return
    const [first] = this.#pending.values()
    if (first === undefined) {
      this.#worker.unref()
      this.#deadline = setTimeout(() => void this.#drop()?.terminate(), IDLE_MS).unref()
      return
    }
    this.#worker.ref()
    if (!this.#ready) {
      this.#deadline = setTimeout(() => this.#abort(`it was not ready within ${START_MS} ms`), START_MS)
      return
    }
    const { schemaMs } = first.request.limits
    const wallMs = WALL_CLOCK_FACTOR * schemaMs
    this.#deadline = setTimeout(() => this.#abort(`did not compile within ${wallMs} ms`), wallMs)
    this.#cpuPoll = setInterval(() => void this.#checkCpu(first, this.#worker!), schemaMs)
  }

  /** Aborts when the first request has used up its CPU time. If the thread does not answer, the deadline ends it. */
  async #checkCpu({ request: { id, limits: { schemaMs } } }: Pending, worker: Worker): Promise<void> {
    const { user, system } = await worker.cpuUsage().catch(() => ({ user: 0, system: 0 }))
    const isCurrent = this.#worker === worker && this.#pending.keys().next().value === id
    if (isCurrent && (user + system) / 1_000 - this.#cpuMs > schemaMs) this.#abort(tooSlow(schemaMs))
  }

  /**
   * Refuses the first request and continues with the others in a new thread. If the thread never became ready, refuses
   * all.
   */
  #abort(message: string): void {
    const wasReady = this.#ready
    void this.#drop()?.terminate()
    if (!wasReady) {
      this.#failAll(message)
      return
    }
    const [first] = this.#pending.values()
    if (first !== undefined) this.#refuse(first, message)
    if (this.#pending.size > 0) this.#start()
  }

  #failAll(message: string): void {
    for (const pending of [...this.#pending.values()]) this.#refuse(pending, `cannot be checked: ${message}`, true)
  }

  #refuse({ request, resolve }: Pending, message: string, noThread = false): void {
    this.#pending.delete(request.id)
    resolve({ verdict: { ok: false, faults: [{ path: '', message, ...(noThread && { noThread }) }] } })
  }

  #stopTimers(): void {
    clearTimeout(this.#deadline)
    clearInterval(this.#cpuPoll)
  }

  #drop(): Worker | undefined {
    this.#stopTimers()
    const worker = this.#worker
    this.#worker = undefined
    this.#ready = false
    return worker
  }
}

const tooSlow = (ms: number): string => `takes more than ${ms} ms of CPU time to compile`

/**
 * The rights of the thread until its modules are loaded. It shares the compile cache of the process, in `cacheFolder`,
 * because compiling its modules takes a quarter of its start.
 */
export function workerRights(
  cacheFolder = getCompileCacheDir(),
): { readonly env: NodeJS.ProcessEnv; readonly execArgv: string[] } {
  const execArgv = ['--permission', '--allow-fs-read=*']
  // A star in an allowed path is a wildcard.
  if (cacheFolder === undefined || cacheFolder.includes('*')) return { env: {}, execArgv }
  return {
    env: { NODE_COMPILE_CACHE: dirname(cacheFolder) }, execArgv: [...execArgv, `--allow-fs-write=${cacheFolder}`],
  }
}

/** Contract: never rejects. */
export interface SchemaChecker {
  /** Whether the schema can be used. `compiles` is false for a schema that is only shown to a model. */
  inspect(schema: JsonObject, compiles?: boolean): Promise<SchemaVerdict>
  /** The fault of the value, or of the schema. */
  check(schema: JsonObject, value: Json): Promise<SchemaFault | undefined>
}

/** How many verdicts are kept, for reloads and for schemas that occur often. */
const MAX_VERDICTS = 4_096

/** Shared by all loaders of the process: the thread takes longer to start than most schemas take to compile. */
const worker = new SchemaWorkerClient()

/** Checks untrusted schemas in a worker thread, each once. */
export class WorkerSchemaChecker implements SchemaChecker {
  readonly #limits: LoaderLimits
  readonly #verdicts = new Map<string, Promise<SchemaVerdict>>()

  constructor(limits: LoaderLimits) {
    this.#limits = limits
  }

  inspect(schema: JsonObject, compiles = true): Promise<SchemaVerdict> {
    const key = sha512(`${compiles} ${canonicalJson(schema)}`)
    const known = this.#verdicts.get(key)
    if (known !== undefined) return known
    const verdict = worker.request({ limits: this.#limits, schema, compiles }).then((reply) => {
      if (!reply.verdict.ok && reply.verdict.faults[0].noThread) this.#verdicts.delete(key)
      return reply.verdict
    })
    if (this.#verdicts.size >= MAX_VERDICTS) this.#verdicts.delete(this.#verdicts.keys().next().value!)
    this.#verdicts.set(key, verdict)
    return verdict
  }

  async check(schema: JsonObject, value: Json): Promise<SchemaFault | undefined> {
    const { verdict, fault } = await worker.request({ limits: this.#limits, schema, compiles: true, value })
    return verdict.ok ? fault : verdict.faults[0]
  }
}

/** Accepts all schemas. For bundled extensions where only their names matter: a host checks them when it loads them. */
export const UNCHECKED: SchemaChecker = {
  inspect: async () => ({ ok: true, subschemas: 0 }), check: async () => undefined,
}

/**
 * Checks the schemas of bundled extensions by the same rules, on this thread: their code runs in the host anyway, and a
 * thread takes longer to start than they take to compile.
 */
export class InProcessSchemaChecker implements SchemaChecker {
  readonly #limits: LoaderLimits
  #compiler: SchemaCompiler | undefined

  constructor(limits: LoaderLimits) {
    this.#limits = limits
  }

  async inspect(schema: JsonObject, compiles = true): Promise<SchemaVerdict> {
    return (await this.#load()).inspect(schema, compiles)
  }

  async check(schema: JsonObject, value: Json): Promise<SchemaFault | undefined> {
    const compiled = (await this.#load()).compile(schema)
    return compiled.ok ? compiled.validate(value) : compiled.faults[0]
  }

  /** Imported on first use. A start from the cache does not need it. */
  async #load(): Promise<SchemaCompiler> {
    const loaded = await import('./schema-compiler.ts')
    this.#compiler ??= new loaded.SchemaCompiler(this.#limits)
    return this.#compiler
  }
}
