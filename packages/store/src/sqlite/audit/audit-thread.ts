import type { Worker } from 'node:worker_threads'
import { ThreadImage } from '@bulkhead/kit/thread-image'
import type { AuditDraft } from '../../records/audit-chain.ts'
import { storeError } from '../../records/stored-record.ts'
import { sqliteError } from '../sqlite-error.ts'
import type { Answer, ThreadStart } from './audit-worker.ts'

interface Pending {
  readonly resolve: (position: number) => void
  readonly reject: (error: unknown) => void
}

/** The code of the audit thread. The host loads it early, because the thread starts under load. */
export const auditThread = new ThreadImage(new URL('./audit-worker.ts', import.meta.url))

/**
 * Writes to the audit in a separate thread with its own connection, so that hashing, commits and disk waits do not
 * block the host. Answers come in the order of the drafts.
 */
export class AuditThread {
  readonly #file: string
  readonly #worker: Worker
  readonly #exited: Promise<void>
  readonly #pending: Pending[] = []
  #idle: PromiseWithResolvers<void> | undefined
  #state: 'starting' | 'ready' | 'ended' = 'starting'

  /** Throws if no thread can be started. */
  constructor(file: string, maxPages: number, image = auditThread) {
    this.#file = file
    this.#worker = image.start({ file, maxPages } satisfies ThreadStart, {
      name: 'bulkhead audit', env: {},
      // A thread that shares standard output makes the pipes of the process non-blocking.
      stdout: true, stderr: true,
    })
    this.#worker.unref()
    this.#worker.on('message', (answer: Answer) => this.#onAnswer(answer))
    let reason: unknown = 'it ended'
    this.#worker.on('error', (error) => void (reason = error))
    this.#exited = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        this.#end(reason)
        resolve()
      })
    })
  }

  get ready(): boolean {
    return this.#state === 'ready'
  }

  /** Whether everything that was added is settled. */
  get isIdle(): boolean {
    return this.#pending.length === 0
  }

  /** Contract: the thread is ready. Resolves with the position of the last record when it is on disk. */
  add(draft: AuditDraft): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    if (this.#pending.push({ resolve, reject }) === 1) this.#worker.ref()
    this.#worker.postMessage(draft)
    return promise
  }

  /** Resolves when everything that was added is settled. */
  async settled(): Promise<void> {
    if (this.isIdle) return
    this.#idle ??= Promise.withResolvers<void>()
    await this.#idle.promise
  }

  /** Waits until everything that was added is settled. */
  async close(): Promise<void> {
    await this.settled()
    if (this.#state === 'ended') return
    this.#worker.ref()
    this.#worker.postMessage('close')
    await this.#exited
  }

  #onAnswer(answer: Answer): void {
    if (answer === 'ready') {
      this.#state = 'ready'
      return
    }
    const pending = this.#pending.shift()
    if ('position' in answer) pending?.resolve(answer.position)
    else pending?.reject(sqliteError(Object.assign(new Error(answer.message), { errcode: answer.errcode }), this.#file))
    if (this.isIdle) this.#becomeIdle()
  }

  #becomeIdle(): void {
    this.#worker.unref()
    this.#idle?.resolve()
    this.#idle = undefined
  }

  /** Unanswered writes may or may not be stored. Callers must treat them as lost. */
  #end(reason: unknown): void {
    this.#state = 'ended'
    const message = `The thread that writes the audit of ${this.#file} has ended: ${String(reason)}.`
    const fault = storeError('disk', message, { cause: reason })
    for (const { reject } of this.#pending.splice(0)) reject(fault)
    this.#becomeIdle()
  }
}
