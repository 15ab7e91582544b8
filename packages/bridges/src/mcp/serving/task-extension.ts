import { randomUUID } from 'node:crypto'
import type { Outcome } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import type { CallToolResult, JSONRPCRequest, Result, Server, ServerContext } from '@modelcontextprotocol/server'
import {
  ClientFault, declaresTasks, errorOf, missingCapability, readRequest, TASKS_EXTENSION, type ClientRequest,
} from './client-request.ts'
import { ANSWER, elicitationOf, type OpenCall, type OpenQuestion } from './open-calls.ts'
import { TaskBook, type KeptTask } from './task-book.ts'
import { ONE_TASK } from './tasks.ts'

/** A task is cancelled and forgotten after this time. */
const TTL_MS = 1_800_000
const POLL_MS = 1_000

/** How a task ended: with a result, which may be an error of the tool, or with an error of the protocol. */
type End =
  | { readonly status: 'completed'; readonly result: CallToolResult }
  | { readonly status: 'failed'; readonly error: ReturnType<typeof errorOf> }
  | { readonly status: 'cancelled' }

/** How a call ended, for the client. Throws ClientFault. */
export type ResultOf = (outcome: Outcome) => CallToolResult

/** A call of the modern era that outlives its request. The client polls it, and answers its questions by key. */
class LastingCall implements KeptTask {
  readonly id: string = randomUUID()
  readonly ttlMs: number = TTL_MS
  readonly #call: OpenCall
  readonly #createdAt = new Date().toISOString()
  #updatedAt = this.#createdAt
  #end: End | undefined
  #isSeen = false
  /** Questions without an answer. A key is used once in a task. */
  readonly #questions = new Map<string, { readonly question: OpenQuestion; readonly timer: NodeJS.Timeout }>()
  #asked = 0

  constructor(call: OpenCall, request: ClientRequest, answerWithinMs: number, resultOf: ResultOf) {
    this.#call = call
    // Its end does not cancel the call.
    const lasting: ClientRequest = { ...request, signal: new AbortController().signal }
    void this.#follow(lasting, answerWithinMs, resultOf)
  }

  /** A task keeps its time. One whose end the client has seen is no longer needed. */
  get mayLeave(): boolean {
    return this.#isSeen
  }

  get status(): End['status'] | 'working' | 'input_required' {
    return this.#end?.status ?? (this.#questions.size > 0 ? 'input_required' : 'working')
  }

  show() {
    return {
      taskId: this.id, status: this.status, createdAt: this.#createdAt, lastUpdatedAt: this.#updatedAt,
      ttlMs: this.ttlMs, pollIntervalMs: POLL_MS,
    }
  }

  /** With what the client needs to continue. */
  showAll(): Result {
    this.#isSeen = this.#end !== undefined
    const inputRequests = Object.fromEntries([...this.#questions].map(([key, { question }]) =>
      [key, elicitationOf(question.form)]))
    return { ...this.show(), ...(this.status === 'input_required' && { inputRequests }), ...this.#end }
  }

  /** Keys of no open question are ignored. */
  answer(replies: ReadonlyMap<string, unknown>): void {
    for (const [key, reply] of replies) this.#take(key)?.answer(reply)
  }

  cancel(): void {
    this.#finish({ status: 'cancelled' })
    this.#call.cancel()
  }

  async #follow(request: ClientRequest, answerWithinMs: number, resultOf: ResultOf): Promise<void> {
    for (;;) {
      const step = await this.#call.next(request)
      if (step.kind === 'ended') return this.#finish(endOf(step.outcome, resultOf))
      if (step.kind === 'asked') this.#ask(step.question, answerWithinMs)
    }
  }

  #ask(question: OpenQuestion, answerWithinMs: number): void {
    const key = `${question.form.name ?? ANSWER}-${++this.#asked}`
    const timer = setTimeout(() => this.#take(key)?.answer(undefined), answerWithinMs)
    this.#questions.set(key, { question, timer })
    question.withdrawn.addEventListener('abort', () => this.#take(key))
    this.#change()
  }

  /** A question that is open, which it no longer is. */
  #take(key: string): OpenQuestion | undefined {
    const { question, timer } = this.#questions.get(key) ?? {}
    clearTimeout(timer)
    if (this.#questions.delete(key)) this.#change()
    return question
  }

  #finish(end: End): void {
    if (this.#end) return
    for (const key of this.#questions.keys()) this.#take(key)
    this.#end = end
    this.#change()
  }

  #change(): void {
    this.#updatedAt = new Date().toISOString()
  }
}

function endOf(outcome: Outcome, resultOf: ResultOf): End {
  try {
    return { status: 'completed', result: resultOf(outcome) }
  } catch (error) {
    return { status: 'failed', error: errorOf(error) }
  }
}

/** The extension for tasks, of one client of the modern era. A call that takes longer becomes a task. */
export class TaskExtension {
  readonly #book: TaskBook<LastingCall>
  readonly #answerWithinMs: number

  constructor(maxTasks: number, answerWithinMs: number) {
    this.#book = new TaskBook(maxTasks)
    this.#answerWithinMs = answerWithinMs
  }

  /** Whether a task has not reached the end of its time. */
  get hasTasks(): boolean {
    return this.#book.size > 0
  }

  /** undefined if there is no room: the client then waits for the result. */
  begin(call: OpenCall, request: ClientRequest, resultOf: ResultOf): CallToolResult | undefined {
    if (!this.#book.makeRoom()) return undefined
    const task = this.#book.add(new LastingCall(call, request, this.#answerWithinMs, resultOf))
    // The SDK accepts only results with content.
    return { content: [], resultType: 'task', ...task.show() }
  }

  serveOn(server: Server): void {
    const find = (id: string, { mcpReq }: ServerContext): LastingCall => {
      if (!readRequest('modern', server, mcpReq).takesTasks) throw needsTasks()
      const task = this.#book.find(id)
      if (!task) throw new ClientFault('InvalidParams', 'There is no such task. Its time may be over.')
      return task
    }
    server.setRequestHandler('tasks/get', ONE_TASK, ({ taskId }, context) => find(taskId, context).showAll())
    server.setRequestHandler('tasks/update', ONE_TASK, ({ taskId }, context) => {
      const task = find(taskId, context)
      const { inputResponses } = context.mcpReq
      if (!inputResponses) throw new ClientFault('InvalidParams', 'inputResponses must be an object')
      task.answer(new Map(Object.entries(inputResponses)))
      return {}
    })
    server.setRequestHandler('tasks/cancel', ONE_TASK, ({ taskId }, context) => {
      find(taskId, context).cancel()
      return {}
    })
  }

  end(): void {
    this.#book.end()
  }
}

const needsTasks = (): ClientFault => missingCapability(
  `This request needs the extension ${TASKS_EXTENSION}, which the client did not declare.`,
  { extensions: { [TASKS_EXTENSION]: {} } },
)

/** A client that wants to hear of tasks must support them. The SDK does not know this filter, and sends nothing for it. */
export function listenFault({ method, params }: Pick<JSONRPCRequest, 'method' | 'params'>): ClientFault | undefined {
  if (method !== 'subscriptions/listen' || !isJsonObject(params as Json)) return undefined
  const { notifications, _meta: meta } = params as { readonly notifications?: Json; readonly _meta?: Json }
  const isAsked = isJsonObject(notifications) && notifications['taskIds'] !== undefined
  return isAsked && !declaresTasks(meta) ? needsTasks() : undefined
}
