import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { messageOf } from '@bulkhead/kit/error-message'
import { ThreadImage } from '@bulkhead/kit/thread-image'
import type { SchemaAnswer, SchemaMessage, SchemaQuestion } from './schema-worker.ts'

type Asked = Omit<SchemaQuestion, 'id'>
type Answered = Omit<SchemaAnswer, 'id'>

interface Waiting {
  readonly question: SchemaQuestion
  readonly settle: (answer: Answered) => void
}

/** A thread that does not come up in this time never will. */
const START_MS = 60_000
/** How much longer than its time a schema may take where the machine gives the thread no more of it. */
const PATIENCE = 12
/** After so long without a question the thread is ended; the next question starts another. */
const IDLE_MS = 5_000

/** The code of the thread, which a server whose tools change makes the host start. */
export const schemaThread = new ThreadImage(new URL('./schema-worker.ts', import.meta.url))

/**
 * Has strangers' schemas compiled, and values checked with them, in a thread of its own, which has no rights once its
 * modules are loaded. A schema that needs more of the processor than it may, or takes the thread down, is at fault by that; those
 * behind it are compiled in the next thread. Time in which the thread did not run is not held against a schema. The thread starts
 * with the first question and keeps no process alive that has nothing to ask.
 */
export class SchemaThread {
  /** In the order they were asked, which is the order they are answered. */
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | undefined
  #ready = false
  /** What the thread had used of the processor when it last spoke. */
  #cpuMs = 0
  readonly #image: ThreadImage
  #timer: NodeJS.Timeout | undefined
  #looks: NodeJS.Timeout | undefined
  #next = 0

  constructor(image = schemaThread) {
    this.#image = image
  }

  /** Contract: never rejects, and resolves in bounded time. */
  ask(asked: Asked): Promise<Answered> {
    const { promise, resolve } = Promise.withResolvers<Answered>()
    const question = { id: this.#next++, ...asked }
    this.#waiting.set(question.id, { question, settle: resolve })
    if (this.#worker === undefined) this.#start()
    else if (this.#ready) this.#worker.postMessage(question)
    if (this.#waiting.size === 1) this.#watch()
    return promise
  }

  #start(): void {
    let worker: Worker
    try {
      worker = this.#image.start(null, { ...threadRights(), resourceLimits: { maxOldGenerationSizeMb: 512 } })
    } catch (error) {
      this.#giveUp(`no thread can be started: ${messageOf(error).replace(/\.$/, '')}`)
      return
    }
    this.#worker = worker
    let reason = 'its thread ended'
    worker.on('message', (message: SchemaMessage) => {
      if (this.#worker === worker) this.#hear(message)
    })
    worker.on('error', (error) => void (reason = messageOf(error)))
    worker.on('exit', () => {
      if (this.#worker === worker) this.#end(`cannot be compiled: ${reason}`)
    })
    this.#watch()
  }

  #hear({ answer, cpuMs }: SchemaMessage): void {
    if (answer) this.#answered(answer, cpuMs - this.#cpuMs)
    else for (const { question } of this.#waiting.values()) this.#worker?.postMessage(question)
    this.#ready = true
    this.#cpuMs = cpuMs
    this.#watch()
  }

  #answered({ id, ...answer }: SchemaAnswer, usedMs: number): void {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) return
    const { question: { limits: { schemaMs } }, settle } = waiting
    if (usedMs > schemaMs) {
      this.#refuse(waiting, tooSlow(schemaMs))
      return
    }
    this.#waiting.delete(id)
    settle(answer)
  }

  /** Times whoever is first in line, or how long there is nobody. */
  #watch(): void {
    this.#stopTimers()
    if (this.#worker === undefined) return
    const [first] = this.#waiting.values()
    if (first === undefined) {
      this.#worker.unref()
      this.#timer = setTimeout(() => void this.#drop()?.terminate(), IDLE_MS).unref()
      return
    }
    this.#worker.ref()
    if (!this.#ready) {
      this.#timer = setTimeout(() => this.#end(`it was not ready within ${START_MS} ms`), START_MS)
      return
    }
    const { schemaMs } = first.question.limits
    this.#timer = setTimeout(() => this.#end(`is not compiled after ${PATIENCE * schemaMs} ms`), PATIENCE * schemaMs)
    this.#looks = setInterval(() => void this.#look(first, this.#worker!), schemaMs)
  }

  /** Whether the first in line has used up its time. A thread that does not even tell is ended by the other timer. */
  async #look(first: Waiting, worker: Worker): Promise<void> {
    const { user, system } = await worker.cpuUsage().catch(() => ({ user: 0, system: 0 }))
    const { question: { id, limits: { schemaMs } } } = first
    const isStill = this.#worker === worker && this.#waiting.keys().next().value === id
    if (isStill && (user + system) / 1_000 - this.#cpuMs > schemaMs) this.#end(tooSlow(schemaMs))
  }

  /** The first in line is to blame, unless the thread never came up; the others go on in another. */
  #end(message: string): void {
    const wasReady = this.#ready
    void this.#drop()?.terminate()
    if (!wasReady) {
      this.#giveUp(message)
      return
    }
    const [first] = this.#waiting.values()
    if (first !== undefined) this.#refuse(first, message)
    if (this.#waiting.size > 0) this.#start()
  }

  #giveUp(message: string): void {
    for (const waiting of [...this.#waiting.values()]) this.#refuse(waiting, `cannot be checked, since ${message}`, true)
  }

  #refuse({ question, settle }: Waiting, message: string, noThread = false): void {
    this.#waiting.delete(question.id)
    settle({ verdict: { ok: false, faults: [{ path: '', message, ...(noThread && { noThread }) }] } })
  }

  #stopTimers(): void {
    clearTimeout(this.#timer)
    clearInterval(this.#looks)
  }

  #drop(): Worker | undefined {
    this.#stopTimers()
    const worker = this.#worker
    this.#worker = undefined
    this.#ready = false
    return worker
  }
}

const tooSlow = (ms: number): string => `takes more than ${ms} ms of the processor to compile`

/**
 * What the thread may do until its modules are loaded. Where the process keeps compiled code, in `code`, it does so too, since to
 * compile them anew is a quarter of its start.
 */
export function threadRights(code = getCompileCacheDir()): { readonly env: NodeJS.ProcessEnv; readonly execArgv: string[] } {
  const execArgv = ['--permission', '--allow-fs-read=*']
  // In a path that is allowed, a star would stand for more than itself.
  if (code === undefined || code.includes('*')) return { env: {}, execArgv }
  return { env: { NODE_COMPILE_CACHE: dirname(code) }, execArgv: [...execArgv, `--allow-fs-write=${code}`] }
}
