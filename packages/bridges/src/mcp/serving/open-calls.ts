import type { Outcome } from '@bulkhead/contract'
import { ClientFault } from './client-fault.ts'
import type { ClientRequest } from './client-request.ts'
import { OpenCall, type AskedCall, type OpenQuestion } from './open-call.ts'

export interface OpenCallsOptions {
  /** Contract: never rejects. */
  readonly run: (call: { readonly id: string; readonly name: string; readonly arguments: unknown }, signal: AbortSignal) => Promise<Outcome>
  /** How long a client may take to come back with an answer. */
  readonly answerWithinMs: number
  readonly maxOpen: number
}

interface Parked {
  readonly call: OpenCall
  readonly question: OpenQuestion
  readonly timer: NodeJS.Timeout
}

/** The calls of one client that have not ended. */
export class OpenCalls {
  readonly #options: OpenCallsOptions
  readonly #calls = new Map<string, OpenCall>()
  /** Those whose client has been asked and is expected back, by the token of the question. */
  readonly #parked = new Map<string, Parked>()
  #count = 0

  constructor(options: OpenCallsOptions) {
    this.#options = options
  }

  /** Throws a ClientFault where too many run: one that was taken back runs until its tool has stopped. */
  begin(asked: AskedCall, request: ClientRequest): OpenCall {
    const { maxOpen } = this.#options
    if (this.#calls.size >= maxOpen) throw new ClientFault('ServerBusy', `${maxOpen} calls are running. Wait for some of them.`)
    const id = `mcp-${++this.#count}`
    const call = new OpenCall(id, asked, request, (signal) =>
      this.#options.run({ id, name: asked.name, arguments: asked.arguments ?? {} }, signal).finally(() => this.#calls.delete(id)))
    this.#calls.set(id, call)
    return call
  }

  /** The call that a request goes on with, which brings a reply to its question. Throws a ClientFault for any other. */
  goOn(token: unknown, asked: AskedCall, reply: unknown): OpenCall {
    const parked = typeof token === 'string' ? this.#parked.get(token) : undefined
    if (!parked) throw new ClientFault('InvalidParams', 'No question with this requestState is open: it was answered, or its time is over.')
    const { call, question } = parked
    if (!call.means(asked)) throw new ClientFault('InvalidParams', 'The question of this requestState was asked about another call.')
    this.#forget(question.token)
    // To come back without an answer is to have come back.
    question.answer(reply ?? null)
    return call
  }

  /** The client has been asked. One that does not come back gives its call up. */
  park(call: OpenCall, question: OpenQuestion): void {
    const timer = setTimeout(() => {
      this.#forget(question.token)
      call.cancel()
    }, this.#options.answerWithinMs)
    this.#parked.set(question.token, { call, question, timer })
  }

  /**
   * Whose request a question is for: of the call itself, or of the one that made it. What belongs to none, as of an extension
   * that starts, is asked of whoever waits longest.
   */
  askedFor(callId: string | undefined): OpenCall | undefined {
    return this.find(callId) ?? this.#calls.values().next().value
  }

  /** A call that a tool makes has the id of its own call and a number behind it. */
  find(callId: string | undefined): OpenCall | undefined {
    return callId === undefined ? undefined : this.#calls.get(callId.split('.', 1)[0]!)
  }

  /** The client is gone. */
  end(): void {
    for (const token of this.#parked.keys()) this.#forget(token)
    for (const call of this.#calls.values()) call.cancel()
  }

  #forget(token: string): void {
    clearTimeout(this.#parked.get(token)?.timer)
    this.#parked.delete(token)
  }
}
