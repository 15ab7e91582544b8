import { randomUUID } from 'node:crypto'
import type { Outcome } from '@bulkhead/contract'
import { canonicalJson, findJsonFault, type Json } from '@bulkhead/kit/json'
import { ClientFault, type ClientRequest } from './client-request.ts'
import type { QuestionForm } from './question-form.ts'

/** What a client asks for. */
export interface AskedCall {
  readonly name: string
  readonly arguments?: Record<string, unknown> | undefined
}

/** What a request of the client is answered with. */
export type Step =
  | { readonly kind: 'ended'; readonly outcome: Outcome }
  | { readonly kind: 'asked'; readonly question: OpenQuestion }

/** A question that is the answer to a request; the next request brings what a person said. */
export interface OpenQuestion {
  /** Good for one answer. Nobody can guess it. */
  readonly token: string
  readonly form: QuestionForm
  answer(reply: unknown): void
}

/**
 * One call, from the request that begins it to its outcome. Where the protocol has no requests of the server, several requests of
 * the client follow each other, each answered with the next step.
 */
export class OpenCall {
  readonly id: string
  readonly #asked: AskedCall
  readonly #cancel = new AbortController()
  readonly #steps: Step[] = []
  /** The request that waits now. */
  #request: ClientRequest
  #waiting: ((step: Step) => void) | undefined

  constructor(id: string, asked: AskedCall, request: ClientRequest, run: (signal: AbortSignal) => Promise<Outcome>) {
    this.id = id
    this.#asked = asked
    this.#request = request
    void run(this.#cancel.signal).then((outcome) => this.#take({ kind: 'ended', outcome }))
  }

  get request(): ClientRequest {
    return this.#request
  }

  /** Whether a request that goes on means this call. Contract: must not throw, whatever its arguments. */
  means(asked: AskedCall): boolean {
    return findJsonFault(asked.arguments ?? {}) === undefined && meaningOf(asked) === meaningOf(this.#asked)
  }

  cancel(): void {
    this.#cancel.abort()
  }

  /** The next thing to tell the client. Taking the request back cancels the call. */
  async next(request: ClientRequest): Promise<Step> {
    const { signal, progress } = request
    const cancel = () => this.cancel()
    this.#request = request
    signal.addEventListener('abort', cancel)
    if (signal.aborted) cancel()
    try {
      return this.#steps.shift() ?? await new Promise<Step>((resolve) => {
        this.#waiting = resolve
      })
    } finally {
      signal.removeEventListener('abort', cancel)
      progress.end()
    }
  }

  /** Asks the person behind the client. Rejects when the question is void. */
  ask(form: QuestionForm, signal: AbortSignal, withinMs: number): Promise<unknown> {
    return this.#request.elicit?.(form, signal, withinMs) ?? this.#askInSteps(form, signal)
  }

  async #askInSteps(form: QuestionForm, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const step: Step = { kind: 'asked', question: { token: randomUUID(), form, answer: resolve } }
    const withdraw = () => {
      const place = this.#steps.indexOf(step)
      if (place >= 0) this.#steps.splice(place, 1)
      reject(signal.reason)
    }
    signal.addEventListener('abort', withdraw)
    this.#take(step)
    return await promise.finally(() => signal.removeEventListener('abort', withdraw))
  }

  #take(step: Step): void {
    const tell = this.#waiting
    this.#waiting = undefined
    if (tell) tell(step)
    else this.#steps.push(step)
  }
}

/** Of arguments that the host, or a check, has found to be no deeper than may be. */
const meaningOf = ({ name, arguments: args = {} }: AskedCall): string => canonicalJson([name, args as Json])

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
   * The request that a question belongs to: that of the call or of its caller. A question without a call, such as one from a
   * starting extension, goes to the oldest request.
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
