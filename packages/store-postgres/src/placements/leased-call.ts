import { setTimeout as pause } from 'node:timers/promises'
import { BulkheadError, WORKER_LIMITS, type BegunEffect, type LeasedCall } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { Database, Row, Value } from '../connection/database.ts'
import type { TakenCall } from './jobs.ts'
import { messageIn, type Outbox } from './outbox.ts'
import { BEGIN, CHECK, SETTLE, WRITE_CHUNK } from './worker-statements.ts'

const { partBytes: CHUNK_BYTES, resultBytes: RESULT_BYTES } = WORKER_LIMITS
/** When a store that did not answer is asked again. */
const AGAIN_MS = 100

export interface Lessee {
  readonly database: Database
  readonly outbox: Outbox
  readonly worker: string
  readonly term: number
  /** The call is over for this worker. */
  onOver(call: Leased): void
}

/** A call that this worker has the lease of. */
export class Leased implements LeasedCall {
  readonly id: string
  readonly tenant: string
  readonly epoch: number
  readonly ticket: string
  readonly body: Uint8Array
  readonly taken: TakenCall
  readonly #lessee: Lessee
  readonly #over = new AbortController()
  #listener: ((message: Json) => void) | undefined
  /** Before there is a listener. */
  #unheard: Json[] = []
  #sending: Promise<unknown> = Promise.resolve()
  #sent = 0
  #begun: Promise<void> | undefined
  #settling: Promise<boolean> | undefined
  /** The number of the last message of the caller. */
  last = 0

  constructor(taken: TakenCall, lessee: Lessee) {
    const { id, tenant, epoch, ticket, body } = taken
    this.id = id
    this.tenant = tenant
    this.epoch = epoch
    this.ticket = ticket
    this.body = body
    this.taken = taken
    this.#lessee = lessee
  }

  get signal(): AbortSignal {
    return this.#over.signal
  }

  /** Its end is on the way to the store, so that the store need not know it any more. */
  get isSettling(): boolean {
    return this.#settling !== undefined
  }

  listen(listener: (message: Json) => void): void {
    this.#listener = listener
    for (const message of this.#unheard.splice(0)) listener(message)
  }

  send(message: Json): Promise<void> {
    const sent = this.#lessee.outbox.send(this.id, this.epoch, ++this.#sent, message)
    this.#sending = Promise.allSettled([this.#sending, sent])
    return sent
  }

  async begin(effect: BegunEffect): Promise<void> {
    this.#mustHold()
    const begun = this.#begun
    if (begun) {
      await begun
      return this.#hold(CHECK)
    }
    const first = this.#hold(BEGIN, JSON.stringify(effect))
    this.#begun = first
    // Whether it is noted is not known then, so the next one notes it.
    return first.catch((error: unknown) => {
      this.#begun = undefined
      throw error
    })
  }

  settle(result: Uint8Array): Promise<boolean> {
    const { byteLength } = result
    if (byteLength > RESULT_BYTES) {
      return Promise.reject(new BulkheadError('OutputTooLarge', `The result of a call has ${byteLength} bytes, but at `
        + `most ${RESULT_BYTES} can be sent from a worker. Return less.`))
    }
    this.#settling ??= this.#settle(result).finally(() => this.#lessee.onOver(this))
    return this.#settling
  }

  hear(number: number, text: unknown): void {
    if (number <= this.last) return
    this.last = number
    const message = messageIn(text)
    if (message === undefined) return
    if (this.#listener) this.#listener(message)
    else this.#unheard.push(message)
  }

  cancel(): void {
    this.#over.abort(new BulkheadError('ToolCancelled', 'The caller cancelled the call.'))
  }

  lose(): void {
    this.#over.abort(leaseLost(this.id, this.#lessee.worker))
    this.#lessee.onOver(this)
  }

  async #hold(statement: typeof BEGIN, ...values: readonly Value[]): Promise<void> {
    const [row] = await this.#answerTo(statement, [...this.#key(), ...values])
    if (row!['held'] !== true) throw leaseLost(this.id, this.#lessee.worker)
    // The answer may have come late.
    this.#mustHold()
  }

  /** A store that does not answer ends no call: it comes back, or the lease ends. */
  async #answerTo(statement: typeof BEGIN, values: readonly Value[]): Promise<readonly Row[]> {
    const { database } = this.#lessee
    for (;;) {
      try {
        return await database.query(statement, values)
      } catch (error) {
        if (database.closed) throw error
        await pause(AGAIN_MS, undefined, { ref: false })
        this.#mustHold()
      }
    }
  }

  #mustHold(): void {
    if (this.#over.signal.aborted) throw this.#over.signal.reason
    if (this.isSettling) throw leaseLost(this.id, this.#lessee.worker)
  }

  async #settle(result: Uint8Array): Promise<boolean> {
    const isLarge = result.byteLength > CHUNK_BYTES
    const chunks = isLarge ? Math.ceil(result.byteLength / CHUNK_BYTES) : 0
    for (let number = 0; number < chunks; number++) {
      const bytes = result.subarray(number * CHUNK_BYTES, (number + 1) * CHUNK_BYTES)
      const [row] = await this.#lessee.database.query(WRITE_CHUNK, [...this.#key(), number, bytes])
      if (!row) return false
    }
    // What it said comes before its end.
    await this.#sending
    const settled = [...this.#key(), isLarge ? new Uint8Array() : result, chunks]
    const [row] = await this.#lessee.database.query(SETTLE, settled)
    return row!['counted'] === true
  }

  #key(): readonly [string, number, string, number] {
    return [this.id, this.epoch, this.#lessee.worker, this.#lessee.term]
  }
}

const leaseLost = (call: string, worker: string): BulkheadError => new BulkheadError('LeaseLost',
  `The worker "${worker}" no longer has the lease of the call "${call}", so it begins nothing more for it. It did not `
  + 'renew the lease in time, or the caller has ended the call.')
