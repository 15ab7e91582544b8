import { randomBytes } from 'node:crypto'
import type { Interactor, Outcome, ToolDefinition } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import type { CallToolResult, Implementation, Server, ServerContext, ServerNotifier } from '@modelcontextprotocol/server'
import { TASKS_EXTENSION, type Era } from './client-request.ts'
import { clientInteractor } from './client-interactor.ts'
import type { PromptSource, ResourceSource } from './content-source.ts'
import { OpenCalls } from './open-calls.ts'
import type { CallTool } from './plain-calls.ts'
import { Prompts, serveCompletionOn } from './prompt-server.ts'
import { Resources } from './resource-server.ts'
import { ResultResources, SkillResources } from './session-resources.ts'
import type { ServedHost, ServedSession } from './served-session.ts'
import { TaskExtension } from './task-extension.ts'
import { TASKS_CAPABILITY, Tasks } from './tasks.ts'
import { ToolList, serveToolsOn } from './tool-server.ts'

/** The client that a token belongs to. Requests with the same name and role come from the same client. */
export interface TokenClient {
  readonly name: string
  /** For flags such as `allow_bash_reviewer`. */
  readonly role?: string
  /** Aborted when the token is revoked. The sessions, streams and calls of the client end then. */
  readonly revoked?: AbortSignal
}

/** What every way of serving a client takes. */
export interface ClientOptions {
  /** Name and version of the server. */
  readonly info: Implementation
  /**
   * Opens the session of a client. The interactor asks the person at the client. `client` is whose token it has, over
   * HTTP. Called once per client.
   */
  readonly openSession: (person: Interactor, client?: TokenClient) => Promise<ServedSession>
  /**
   * Continues the session of a client whose replica has ended, over HTTP. Default: the client has to start a new one.
   */
  readonly resumeSession?: (id: string, person: Interactor, client?: TokenClient) => Promise<ServedSession>
  /** Further resources and prompts, for every client. */
  readonly resources?: readonly ResourceSource[]
  readonly prompts?: readonly PromptSource[]
  /** Instructions for the model. */
  readonly instructions?: string
  /** Time for a person to answer. Default: 5 minutes. */
  readonly answerWithinMs?: number
  /** A call of a client that supports tasks (2026-07-28) becomes a task if it takes longer. Default: one second. */
  readonly taskAfterMs?: number
  /** Maximum number of open requests, and of open calls, of one client. Default: 128. */
  readonly maxOpen?: number
  /** Called for client errors and failed sends. Serving continues. */
  readonly onFault?: (error: Error) => void
}

export const MAX_OPEN = 128
const ANSWER_WITHIN_MS = 300_000
const TASK_AFTER_MS = 1_000

const DEFAULT_INSTRUCTIONS = 'Each tool has only the permissions it declared. Some calls wait for approval by a '
  + 'person. If a call is denied, the error gives the reason. Do not repeat the call unchanged.'

type ServerClass = typeof import('@modelcontextprotocol/server').Server

/** One client: its session, its open calls, what it last saw of the list of tools, its resources and prompts. */
export class ServedClient {
  readonly calls: OpenCalls
  readonly #options: ClientOptions
  readonly #Server: ServerClass
  readonly #session: ServedSession
  readonly #list: ToolList
  /** The tools of the session when it was last asked, and the same by name. */
  #tools: readonly ToolDefinition[] = []
  #definitions: ReadonlyMap<string, ToolDefinition> = new Map()
  readonly #tasks: Tasks
  readonly #extension: TaskExtension
  readonly #results = new ResultResources()
  readonly #resources: Resources
  readonly #prompts: Prompts
  readonly #offs: readonly (() => void)[]
  /** Tells the client about changes. Set by the transport, once it can. */
  notify: ServerNotifier | undefined
  #ended: Promise<void> | undefined

  private constructor(
    host: ServedHost, options: ClientOptions, Server: ServerClass, session: ServedSession, calls: OpenCalls,
  ) {
    this.calls = calls
    const { maxOpen = MAX_OPEN, answerWithinMs = ANSWER_WITHIN_MS } = options
    this.#tasks = new Tasks(calls, maxOpen)
    this.#extension = new TaskExtension(maxOpen, answerWithinMs)
    this.#options = options
    this.#Server = Server
    this.#session = session
    this.#list = new ToolList(() => host.offeredTools?.(session) ?? session.tools())
    this.#resources = new Resources([new SkillResources(), this.#results, ...options.resources ?? []])
    this.#prompts = new Prompts(options.prompts ?? [])
    this.#offs = [
      host.on(() => this.#notifyIf(this.#list.hasChanged()), ['ToolsChanged']),
      this.#resources.watch((uri) => this.#resourceChanged(uri)),
      this.#prompts.watch(() => this.notify?.promptsChanged()),
    ]
  }

  /**
   * Rejects if `openSession` does, or if `@modelcontextprotocol/server` is not installed. `era` is known after the
   * first message.
   */
  static async open(
    host: ServedHost, options: ClientOptions, era: () => Era | undefined, client?: TokenClient, resumed?: string,
  ): Promise<ServedClient> {
    const { answerWithinMs = ANSWER_WITHIN_MS, maxOpen = MAX_OPEN } = options
    // Imported here because MCP clients do not need it.
    const { Server } = await import('@modelcontextprotocol/server')
    const calls: OpenCalls = new OpenCalls({
      run: (call, signal) => session.call(call, {
        signal,
        onProgress: (progress) => calls.find(call.id)?.request.progress.report(progress),
        onLog: (line) => calls.find(call.id)?.request.log.report(line),
      }),
      answerWithinMs, maxOpen,
      // Its calls have used other ids in the replica that has ended.
      ...(resumed !== undefined && { resumed: `${randomBytes(6).toString('hex')}-` }),
    })
    const session = await openSession(options, clientInteractor(calls, answerWithinMs, era), client, resumed)
    return new ServedClient(host, options, Server, session, calls)
  }

  get sessionId(): string {
    return this.#session.id
  }

  /** A server of the SDK for this client: one per connection, or one per request in the modern era over HTTP. */
  server(era: Era): Server {
    return this.serverAndCalls(era).server
  }

  /** The same, with a function for calls that the server does not handle. */
  serverAndCalls(era: Era): { readonly server: Server; readonly callTool: CallTool } {
    const { info, instructions = DEFAULT_INSTRUCTIONS, taskAfterMs: afterMs = TASK_AFTER_MS } = this.#options
    const server = new this.#Server(info, {
      capabilities: {
        tools: { listChanged: true }, logging: {}, completions: {}, resources: { listChanged: true, subscribe: true },
        ...(era === 'legacy' ? { tasks: TASKS_CAPABILITY } : { extensions: { [TASKS_EXTENSION]: {} } }),
        ...(!this.#prompts.isEmpty && { prompts: { listChanged: true } }),
      },
      instructions,
    })
    const callTool = serveToolsOn(server, era, {
      calls: this.calls, list: this.#list, tasks: era === 'legacy' ? this.#tasks : undefined,
      lasting: era === 'modern' ? { extension: this.#extension, afterMs } : undefined,
      definitionOf: (tool) => this.#definitionOf(tool),
      called: (outcome) => this.#called(outcome), late: () => endedTasks(this.#session),
    })
    const report = (fault: string) => this.#options.onFault?.(new Error(fault))
    const contextOf = ({ mcpReq: { signal } }: ServerContext) => ({ session: this.#session, signal, report })
    this.#resources.serveOn(server, era, contextOf)
    if (!this.#prompts.isEmpty) this.#prompts.serveOn(server, era, contextOf)
    serveCompletionOn(server, this.#prompts, this.#resources, contextOf)
    return { server, callTool }
  }

  /** Whether it may still ask for the result of a task. */
  get hasTasks(): boolean {
    return this.#extension.hasTasks
  }

  inputSchema(tool: string): JsonObject | undefined {
    return this.#definitionOf(tool)?.inputSchema
  }

  #definitionOf(tool: string): ToolDefinition | undefined {
    const tools = this.#session.tools()
    if (tools !== this.#tools) {
      this.#tools = tools
      this.#definitions = new Map(tools.map((definition) => [definition.name, definition]))
    }
    return this.#definitions.get(tool)
  }

  /** Reports changes from now on, also to a client that took the list from a cache. */
  watchTools(): void {
    this.#list.show()
  }

  /** Cancels its calls and closes its session. `stays`: another replica may continue it. Never rejects. Idempotent. */
  end(stays = false): Promise<void> {
    this.#ended ??= this.#end(stays)
    return this.#ended
  }

  async #end(stays: boolean): Promise<void> {
    for (const off of this.#offs) off()
    this.#tasks.end()
    this.#extension.end()
    this.calls.end()
    const ended = stays && this.#session.release ? this.#session.release() : this.#session.close()
    await ended.catch((error: Error) => this.#options.onFault?.(error))
  }

  #called(outcome: Outcome): void {
    this.#notifyIf(this.#list.hasNewNames())
    this.#results.add(outcome)
  }

  #resourceChanged(uri: string | undefined): void {
    if (uri === undefined) this.notify?.resourcesChanged()
    else if (this.#resources.isWatched(uri)) this.notify?.resourceUpdated(uri)
  }

  #notifyIf(hasChanged: boolean): void {
    if (hasChanged) this.notify?.toolsChanged()
  }
}

/** A session that was never stored has nothing to continue, so it is opened. */
async function openSession(
  options: ClientOptions, person: Interactor, client: TokenClient | undefined, resumed: string | undefined,
): Promise<ServedSession> {
  if (resumed === undefined || !options.resumeSession) return options.openSession(person, client)
  try {
    return await options.resumeSession(resumed, person, client)
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'NotFound') throw error
    return options.openSession(person, client)
  }
}

/** Sends changes over one connection. */
export function notifierOf(server: Server, onFault: ((error: Error) => void) | undefined): ServerNotifier {
  const failed = (error: Error) => onFault?.(error)
  return {
    toolsChanged: () => void server.sendToolListChanged().catch(failed),
    promptsChanged: () => void server.sendPromptListChanged().catch(failed),
    resourcesChanged: () => void server.sendResourceListChanged().catch(failed),
    resourceUpdated: (uri) => void server.sendResourceUpdated({ uri }).catch(failed),
  }
}

/** What background tasks have ended with, as content of the next result: MCP has no turns. Each comes once. */
const endedTasks = (session: ServedSession): CallToolResult['content'] =>
  (session.taskResults?.() ?? []).map(({ id, agent, outcome }) => {
    const result = outcome.type === 'output' ? JSON.stringify(outcome.data) : outcome.error_text
    return { type: 'text', text: `The task ${id} of the agent ${agent} in the background has ended: ${result}` }
  })
