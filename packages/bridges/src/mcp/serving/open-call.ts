import { randomUUID } from 'node:crypto'
import type { Outcome } from '@bulkhead/contract'
import { canonicalJson, findJsonFault, type Json } from '@bulkhead/kit/json'
import type { ClientRequest } from './client-request.ts'
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
