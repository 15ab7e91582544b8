import { randomUUID } from 'node:crypto'
import type { Outcome } from '@bulkhead/contract'
import { canonicalJson, findJsonFault, isJsonObject, type Json } from '@bulkhead/kit/json'
import { ClientFault, type ClientRequest } from './client-request.ts'
import type { QuestionForm } from '../../questions/question-form.ts'

/** The tool and arguments of a request. */
export interface AskedCall {
  readonly name: string
  readonly arguments?: Record<string, unknown> | undefined
}

/** The response to a request. */
type Response =
  | { readonly kind: 'ended'; readonly outcome: Outcome }
  | { readonly kind: 'asked'; readonly question: OpenQuestion }

type Step = Response | typeof LASTING

/** There is no step yet. */
const LASTING = { kind: 'lasting' } as const

/** A question that is the response to a request. The next request has the answer. */
export interface OpenQuestion {
  /** Valid for one answer. Cannot be guessed. */
  readonly token: string
  readonly form: QuestionForm
  /** Aborted when no answer is needed any more. */
  readonly withdrawn: AbortSignal
  /** undefined: no one answered in time. */
  answer(reply: unknown): void
}

/** A question as a request that is embedded in a response. */
export const elicitationOf = ({ message, requestedSchema }: QuestionForm) =>
  ({ method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } } as const)

/**
 * One call, from its first request to its outcome. In the modern era it can take several requests, each answered with
 * the next step.
 */
export class OpenCall {
  readonly id: string
  readonly #asked: AskedCall
  readonly #cancel = new AbortController()
  readonly #steps: Step[] = []
  /** The latest request. */
  #request: ClientRequest
  /** Whether a question of it could not be asked, because the client has no forms. */
  lacksForms = false
  #waiting: ((step: Step) => void) | undefined

  /** `run` never rejects. */
  constructor(
    id: string, asked: AskedCall, request: ClientRequest, run: (signal: AbortSignal) => Promise<Outcome>,
    ended: () => void,
  ) {
    this.id = id
    this.#asked = asked
    this.#request = request
    void run(this.#cancel.signal).then((outcome) => {
      ended()
      this.#take({ kind: 'ended', outcome })
    })
  }

  get request(): ClientRequest {
    return this.#request
  }

  /** Whether a request is for this call. Must not throw for any arguments. */
  means(asked: AskedCall): boolean {
    return findJsonFault(asked.arguments ?? {}) === undefined && meaningOf(asked) === meaningOf(this.#asked)
  }

  cancel(): void {
    this.#cancel.abort()
  }

  /**
   * The next step for the client. Cancelling the request cancels the call. If there is none within this time, the step
   * is `lasting`, and the request or another one may ask again.
   */
  next(request: ClientRequest): Promise<Response>
  next(request: ClientRequest, withinMs: number | undefined): Promise<Step>
  async next(request: ClientRequest, withinMs?: number): Promise<Step> {
    const { signal, progress, log } = request
    const cancel = () => this.cancel()
    this.#request = request
    signal.addEventListener('abort', cancel)
    if (signal.aborted) cancel()
    try {
      const step = this.#steps.shift() ?? (withinMs === 0 ? LASTING : await this.#nextStep(withinMs))
      if (step === LASTING) return step
      progress.end()
      await log.end()
      return step
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

  #nextStep(withinMs: number | undefined): Promise<Step> {
    return new Promise((resolve) => {
      const timer = withinMs === undefined ? undefined : setTimeout(() => this.#take(LASTING), withinMs)
      this.#waiting = (step) => {
        clearTimeout(timer)
        resolve(step)
      }
    })
  }

  /** Asks the person at the client. Rejects if the question is withdrawn. */
  ask(form: QuestionForm, signal: AbortSignal, withinMs: number): Promise<unknown> {
    return this.#request.elicit?.(form, signal, withinMs) ?? this.#askInSteps(form, signal)
  }

  async #askInSteps(form: QuestionForm, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted()
    const given = this.#given(form)
    if (given !== undefined) return given
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const step: Step = { kind: 'asked', question: { token: randomUUID(), form, withdrawn: signal, answer: resolve } }
    const withdraw = () => {
      const place = this.#steps.indexOf(step)
      if (place >= 0) this.#steps.splice(place, 1)
      reject(signal.reason)
    }
    signal.addEventListener('abort', withdraw)
    this.#take(step)
    return await promise.finally(() => signal.removeEventListener('abort', withdraw))
  }

  /** A valid reply that came before its question. Approvals have no name, so they are always asked. */
  #given({ name, read }: QuestionForm): unknown {
    const reply = name === undefined ? undefined : takeReply(this.#request, name)
    const { action, content } = isJsonObject(reply) ? reply : {}
    return action === 'accept' && isJsonObject(content) && read(content) !== undefined ? reply : undefined
  }

  #take(step: Step): void {
    const resolve = this.#waiting
    this.#waiting = undefined
    if (resolve) resolve(step)
    else this.#steps.push(step)
  }
}

/** The name of a question that a tool did not name. */
export const ANSWER = 'answer'

function takeReply({ replies }: ClientRequest, name: string): unknown {
  const reply = replies?.get(name)
  replies?.delete(name)
  return reply
}

/** The depth of the arguments must be bounded. */
const meaningOf = ({ name, arguments: args = {} }: AskedCall): string => canonicalJson([name, args as Json])

export interface OpenCallsOptions {
  /** Never rejects. */
  readonly run: (
    call: { readonly id: string; readonly name: string; readonly arguments: unknown }, signal: AbortSignal,
  ) => Promise<Outcome>
  /** Timeout for the answer of a client. */
  readonly answerWithinMs: number
  readonly maxOpen: number
  /** Of a client that continues here: what the ids of its calls begin with, besides. */
  readonly resumed?: string
}

interface PendingQuestion {
  readonly call: OpenCall
  readonly question: OpenQuestion
  readonly timer: NodeJS.Timeout
}

/** The open calls of one client. */
export class OpenCalls {
  readonly #options: OpenCallsOptions
  readonly #calls = new Map<string, OpenCall>()
  /** Questions that wait for an answer, by token. */
  readonly #pending = new Map<string, PendingQuestion>()
  #count = 0

  constructor(options: OpenCallsOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#calls.size
  }

  /** Whether there was any call. */
  get hasBegun(): boolean {
    return this.#count > 0
  }

  /** Throws ClientFault if too many calls run. A cancelled call counts until its tool has stopped. */
  begin(asked: AskedCall, request: ClientRequest): OpenCall {
    const { maxOpen } = this.#options
    if (this.#calls.size >= maxOpen) {
      throw new ClientFault('ServerBusy', `${maxOpen} calls are running. Wait until some have finished.`)
    }
    const id = `mcp-${this.#options.resumed ?? ''}${++this.#count}`
    const call = new OpenCall(
      id, asked, request,
      (signal) => this.#options.run({ id, name: asked.name, arguments: asked.arguments ?? {} }, signal),
      () => this.#calls.delete(id),
    )
    this.#calls.set(id, call)
    return call
  }

  /** The call that a repeated request continues. Throws ClientFault if there is none. */
  resume(token: unknown, asked: AskedCall, request: ClientRequest): OpenCall {
    const pending = typeof token === 'string' ? this.#pending.get(token) : undefined
    if (!pending) {
      throw new ClientFault(
        'InvalidParams', 'No question with this requestState is open. It was answered, has expired or has ended with its replica. '
            + 'Send the call without requestState to make it again.',
      )
    }
    const { call, question } = pending
    if (!call.means(asked)) {
      throw new ClientFault('InvalidParams', 'The question of this requestState belongs to another call.')
    }
    this.#forget(question.token)
    // A request without an answer counts as a reply too.
    question.answer(takeReply(request, question.form.name ?? ANSWER) ?? null)
    return call
  }

  /** Cancels the call if the client does not answer in time. */
  awaitAnswer(call: OpenCall, question: OpenQuestion): void {
    const timer = setTimeout(() => {
      this.#forget(question.token)
      call.cancel()
    }, this.#options.answerWithinMs)
    this.#pending.set(question.token, { call, question, timer })
  }

  /**
   * The request that a question belongs to: that of the call or of its caller. A question without a call, such as one
   * from a starting extension, goes to the oldest request.
   */
  askedFor(callId: string | undefined): OpenCall | undefined {
    return this.find(callId) ?? this.#calls.values().next().value
  }

  /** The id of a call made by a tool is that of its caller and a number. */
  find(callId: string | undefined): OpenCall | undefined {
    return callId === undefined ? undefined : this.#calls.get(callId.split('.', 1)[0]!)
  }

  /** Call this when the client has disconnected. */
  end(): void {
    for (const token of this.#pending.keys()) this.#forget(token)
    for (const call of this.#calls.values()) call.cancel()
  }

  #forget(token: string): void {
    clearTimeout(this.#pending.get(token)?.timer)
    this.#pending.delete(token)
  }
}
