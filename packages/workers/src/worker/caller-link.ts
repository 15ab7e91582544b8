import { BulkheadError, CALL_LIMITS, type BegunEffect, type LeasedCall, type MeasuredUse } from '@bulkhead/contract'
import { onAbort } from '@bulkhead/kit/deadlines'
import type { Json } from '@bulkhead/kit/json'
import type { MachineKey } from '../keys/machine-key.ts'
import { readAnswer, type NoteMethod, type RequestMethod } from '../messages/protocol.ts'
import { writeResult, type CallResult, type RemoteUse } from '../messages/result.ts'
import { Inbox, Outbox } from '../messages/signed-messages.ts'
import type { Ticket } from '../ticket/ticket.ts'

const MOST_USE_CHARS = 5_000

/** What one call on a worker says to its caller. */
export class CallerLink {
  readonly #leased: LeasedCall
  readonly #key: MachineKey
  readonly #outbox: Outbox
  readonly #ended = new AbortController()
  readonly #asked = new Map<number, PromiseWithResolvers<Json>>()
  /** By step. The caller has noted that the call begins something. */
  readonly #noted = new Map<string, Promise<Json>>()
  readonly #uses: (RemoteUse & { readonly endedAt: number })[] = []
  #count = 0
  #step: string | undefined

  constructor(leased: LeasedCall, ticket: Ticket, key: MachineKey) {
    this.#leased = leased
    this.#key = key
    this.#outbox = new Outbox({
      channel: leased, direction: 'to caller', key, send: (message) => leased.send(message), signal: this.#ended.signal,
    })
    const inbox = new Inbox(leased, 'to worker', (by) => by === ticket.caller)
    leased.listen((message) => {
      try {
        for (const entry of inbox.read(message)) this.#answered(entry)
      } catch (thrown) {
        this.#end(BulkheadError.from(thrown))
      }
    })
    onAbort(leased.signal, () => this.#end(BulkheadError.from(leased.signal.reason, 'ToolCancelled')))
  }

  /** Aborted when the call may not go on: its lease is lost, it is cancelled, or its caller sent what it cannot send. */
  get signal(): AbortSignal {
    return this.#ended.signal
  }

  /** It goes with the result: a message of its own would be one more for each call. */
  used({ tool: _tool, subject, ...use }: MeasuredUse): void {
    if (this.#uses.length >= CALL_LIMITS.listedUses) return
    this.#uses.push({ ...use, subject: subject.slice(0, MOST_USE_CHARS).toWellFormed(), endedAt: performance.now() })
  }

  /** What is too long is left out. */
  note(method: NoteMethod, ...args: readonly Json[]): void {
    if (this.#ended.signal.aborted) return
    try {
      this.#outbox.add([null, method, ...args])
    } catch {
      // A note is not part of the result.
    }
  }

  ask(method: RequestMethod, ...args: readonly Json[]): Promise<Json> {
    if (this.#ended.signal.aborted) return Promise.reject(this.#ended.signal.reason as Error)
    const id = ++this.#count
    const answer = Promise.withResolvers<Json>()
    this.#asked.set(id, answer)
    try {
      this.#outbox.add([id, method, ...args])
    } catch (thrown) {
      this.#asked.delete(id)
      answer.reject(thrown)
    }
    return answer.promise
  }

  /**
   * Before each effect. The store checks lease and epoch, and notes the first one. Then the caller notes the first one of
   * each step, or says that the call is over. It comes last: what it has not noted has not begun. Rejects if the effect
   * must not begin.
   */
  async begin(what: string): Promise<void> {
    const step = this.#step
    const effect: BegunEffect = { attempt: this.#leased.epoch, at: Date.now(), what, ...(step !== undefined && { step }) }
    await this.#leased.begin(effect).catch((thrown: unknown) => {
      if (BulkheadError.is(thrown) && thrown.code === 'LeaseLost') this.#end(thrown)
      throw thrown
    })
    const key = step ?? ''
    let noted = this.#noted.get(key)
    if (noted === undefined) {
      noted = this.ask('begin', what.slice(0, 1_000).toWellFormed())
      this.#noted.set(key, noted)
      noted.catch(() => this.#noted.delete(key))
    }
    await noted
  }

  async beginStep(name: string): Promise<{ readonly result: Json } | undefined> {
    const kept = await this.ask('step.begin', name)
    if (kept !== null) return kept as unknown as { readonly result: Json }
    this.#step = name
    return undefined
  }

  async endStep(name: string, ...result: readonly Json[]): Promise<void> {
    this.#step = undefined
    await this.ask('step.end', name, ...result.map((value) => ({ result: value })))
  }

  /**
   * After everything that was said before. Without an answer of the store, the call ends as lost, and so does one whose
   * lease was lost: what it could not do is no result. Never rejects.
   */
  async settle(result: CallResult): Promise<void> {
    if (this.#hasLostLease) return
    const now = performance.now()
    const uses = this.#uses.map(({ endedAt, ...use }): RemoteUse => ({ ...use, agoMs: now - endedAt }))
    const bytes = writeResult({ ...result, uses }, this.#leased, this.#key)
    await this.#outbox.sent()
    await this.#leased.settle(bytes).catch(() => undefined)
    this.#end(new BulkheadError('ToolCancelled', 'The call is over.'))
  }

  get #hasLostLease(): boolean {
    const reason: unknown = this.#ended.signal.reason
    return BulkheadError.is(reason) && reason.code === 'LeaseLost'
  }

  #answered(entry: Json): void {
    const answer = readAnswer(entry)
    const asked = this.#asked.get(answer.id)
    this.#asked.delete(answer.id)
    if ('error' in answer) asked?.reject(answer.error)
    else asked?.resolve(answer.value)
  }

  #end(reason: BulkheadError): void {
    if (this.#ended.signal.aborted) return
    this.#ended.abort(reason)
    for (const asked of this.#asked.values()) asked.reject(reason)
    this.#asked.clear()
  }
}
