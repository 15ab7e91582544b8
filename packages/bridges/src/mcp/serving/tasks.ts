import { randomUUID } from 'node:crypto'
import type { Outcome } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { isJsonObject, type JsonObject } from '@bulkhead/kit/json'
import type { CallToolResult, Result, Server, StandardSchemaV1, Task, TaskStatus } from '@modelcontextprotocol/server'
import { ClientFault, readRequest, type ClientRequest } from './client-request.ts'
import type { AskedCall } from './kept-questions.ts'
import type { OpenCall, OpenCalls } from './open-calls.ts'
import { TaskBook, type KeptTask } from './task-book.ts'

/** A task is cancelled and forgotten after this time, or earlier if its client wants that. */
const MAX_TTL_MS = 3_600_000
const POLL_MS = 1_000
const RELATED = 'io.modelcontextprotocol/related-task'

/** What a server with tasks declares. */
export const TASKS_CAPABILITY = { list: {}, cancel: {}, requests: { tools: { call: {} } } } as const

/** A call that outlives its request. Its questions wait until the client asks for the result. */
class CallTask implements KeptTask {
  readonly id: string = randomUUID()
  readonly ttlMs: number
  readonly outcome: Promise<Outcome>
  readonly #call: OpenCall
  readonly #createdAt = new Date().toISOString()
  #updatedAt = this.#createdAt
  #status: TaskStatus = 'working'
  /** Requests that wait for the result. */
  readonly #waiting = new Set<ClientRequest>()
  /** Resolves with the next of them. */
  #next = Promise.withResolvers<ClientRequest>()

  constructor(calls: OpenCalls, asked: AskedCall, request: ClientRequest, ttl: number) {
    this.ttlMs = ttl
    const lasting: ClientRequest = {
      ...request, signal: new AbortController().signal,
      elicit: (form, signal, withinMs) => this.#elicit(form, signal, withinMs),
    }
    this.#call = calls.begin(asked, lasting)
    this.outcome = this.#end(lasting)
  }

  get mayLeave(): boolean {
    return this.hasEnded
  }

  get hasEnded(): boolean {
    return this.#status !== 'working' && this.#status !== 'input_required'
  }

  show(): Task {
    return {
      taskId: this.id, status: this.#status, ttl: this.ttlMs, createdAt: this.#createdAt, lastUpdatedAt: this.#updatedAt,
      pollInterval: POLL_MS,
    }
  }

  cancel(): void {
    if (this.hasEnded) return
    this.#become('cancelled')
    this.#call.cancel()
  }

  /** Resolves when the task has ended. Meanwhile its questions go to this request. Its end does not cancel the task. */
  async result(request: ClientRequest): Promise<Outcome> {
    this.#waiting.add(request)
    this.#next.resolve(request)
    this.#next = Promise.withResolvers()
    try {
      return await untilAborted(this.outcome, request.signal)
    } finally {
      this.#waiting.delete(request)
    }
  }

  async #end(request: ClientRequest): Promise<Outcome> {
    const step = await this.#call.next(request)
    if (step.kind !== 'ended') throw new Error('A task of the older era was asked in steps.')
    if (!this.hasEnded) this.#become(step.outcome.type === 'output' ? 'completed' : 'failed')
    return step.outcome
  }

  async #elicit(...[form, signal, withinMs]: Parameters<NonNullable<ClientRequest['elicit']>>): Promise<unknown> {
    this.#become('input_required')
    const late = AbortSignal.timeout(withinMs)
    try {
      const [listener] = this.#waiting
      const { elicit } = listener ?? await untilAborted(this.#next.promise, AbortSignal.any([signal, late]))
      return await elicit?.({ ...form, meta: { [RELATED]: { taskId: this.id } } }, signal, withinMs)
    } catch (error) {
      signal.throwIfAborted()
      if (late.aborted) return undefined
      throw error
    } finally {
      if (!this.hasEnded) this.#become('working')
    }
  }

  #become(status: TaskStatus): void {
    this.#status = status
    this.#updatedAt = new Date().toISOString()
  }
}

const show = (task: CallTask): Task & Result => ({ ...task.show() })

/** Parameters of requests for which the SDK has no types. */
const params = <Value>(read: (given: JsonObject) => Value | undefined): StandardSchemaV1<unknown, Value> => ({
  '~standard': {
    version: 1, vendor: 'bulkhead',
    validate(given) {
      const value = read(isJsonObject(given) ? given : {})
      return value === undefined ? { issues: [{ message: 'taskId must be a string' }] } : { value }
    },
  },
})
export const ONE_TASK = { params: params(({ taskId }) => typeof taskId === 'string' ? { taskId } : undefined) }
const ANY_PARAMS = { params: params((given) => given) }

/** The tasks of one client of the older era. */
export class Tasks {
  readonly #calls: OpenCalls
  readonly #maxTasks: number
  readonly #book: TaskBook<CallTask>

  constructor(calls: OpenCalls, maxTasks: number) {
    this.#calls = calls
    this.#maxTasks = maxTasks
    this.#book = new TaskBook(maxTasks)
  }

  /** Throws ClientFault if too many tasks or calls run. The oldest task that has ended makes room. */
  begin(asked: AskedCall, request: ClientRequest, ttl: number = MAX_TTL_MS): CallTask {
    if (!this.#book.makeRoom()) {
      throw new ClientFault('ServerBusy', `${this.#maxTasks} tasks are running. Wait until some have ended.`)
    }
    return this.#book.add(new CallTask(this.#calls, asked, request, Math.min(Math.max(0, ttl), MAX_TTL_MS)))
  }

  /** Connects `tasks/*` to a server of the SDK. `resultOf` makes the result of a call. */
  serveOn(server: Server, resultOf: (outcome: Outcome) => CallToolResult): void {
    server.setRequestHandler('tasks/get', ONE_TASK, ({ taskId }) => show(this.#find(taskId)))
    server.setRequestHandler('tasks/list', ANY_PARAMS, () => ({ tasks: this.#book.list().map(show) }))
    server.setRequestHandler('tasks/cancel', ONE_TASK, ({ taskId }) => {
      const found = this.#find(taskId)
      if (found.hasEnded) throw new ClientFault('InvalidParams', 'The task has ended, so it cannot be cancelled.')
      found.cancel()
      return show(found)
    })
    server.setRequestHandler('tasks/result', ONE_TASK, async ({ taskId }, context) => {
      const task = this.#find(taskId)
      const { _meta: meta, ...result } = resultOf(await task.result(readRequest('legacy', server, context.mcpReq)))
      return { ...result, _meta: { ...meta, [RELATED]: { taskId } } }
    })
  }

  end(): void {
    this.#book.end()
  }

  #find(id: string): CallTask {
    const known = this.#book.find(id)
    if (!known) throw new ClientFault('InvalidParams', 'There is no such task. Its time may be over.')
    return known
  }
}
