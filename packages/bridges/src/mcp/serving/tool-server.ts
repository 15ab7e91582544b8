import { mayChange, type Outcome, type ToolDefinition } from '@bulkhead/contract'
import { noteOfCut, toMcp } from '@bulkhead/contract/dialects'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { CallToolResult, InputRequiredResult, Server, Tool } from '@modelcontextprotocol/server'
import { ClientFault, missingCapability, readRequest, type ClientRequest, type Era } from './client-request.ts'
import type { CallTool } from './plain-calls.ts'
import type { Tasks } from './tasks.ts'
import type { AskedCall } from './kept-questions.ts'
import { ANSWER, elicitationOf, type OpenCall, type OpenCalls, type OpenQuestion } from './open-calls.ts'
import type { TaskExtension } from './task-extension.ts'

export interface ToolServerParts {
  readonly calls: OpenCalls
  readonly list: ToolList
  readonly definitionOf: (tool: string) => ToolDefinition | undefined
  /** Only in the legacy era. */
  readonly tasks: Tasks | undefined
  /** Only in the modern era. */
  readonly lasting: { readonly extension: TaskExtension; readonly afterMs: number } | undefined
  /** Called after every response, because a call may change the list of tools. */
  readonly called: (outcome: Outcome) => void
  /** Content to add to the next result. */
  readonly late: () => CallToolResult['content']
}

/**
 * Connects tools to a server of the SDK. This checks the protocol only; the session applies the policies. Returns a
 * function for calls that the server does not handle.
 */
export function serveToolsOn(server: Server, era: Era, parts: ToolServerParts): CallTool {
  const { calls, list, definitionOf, tasks, lasting, called, late } = parts
  server.setRequestHandler('tools/list', () => {
    const tools = list.show()
    const execution = { taskSupport: 'optional' } as const
    return { tools: tasks ? tools.map((tool) => ({ ...tool, execution })) : tools }
  })
  tasks?.serveOn(server, resultOf)
  lasting?.extension.serveOn(server)
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const request = readRequest(era, server, context.mcpReq)
    if (tasks && params.task) return beginTask(tasks, params, request, params.task.ttl)
    const token = context.mcpReq.requestState<unknown>()
    const call = token === undefined ? calls.begin(params, request) : await calls.resume(token, params, request)
    return answer(call, request, params)
  })
  return (asked, port) => {
    const request = readRequest(era, server, port)
    // In the legacy era, no question is the answer to a call.
    return answer(calls.begin(asked, request), request, asked) as Promise<CallToolResult>
  }

  async function answer(
    call: OpenCall, request: ClientRequest, asked: AskedCall,
  ): Promise<CallToolResult | InputRequiredResult> {
    let step = await call.next(request, request.takesTasks ? lasting?.afterMs : undefined)
    if (step.kind === 'lasting') {
      const task = lasting?.extension.begin(call, request, (outcome) => end(call, outcome))
      if (task) return withoutReports(task, request)
      step = await call.next(request)
    }
    if (step.kind === 'asked') return ask(call, step.question, asked)
    return end(call, step.outcome)
  }

  function end(call: OpenCall, outcome: Outcome): CallToolResult {
    // After the response: the client works with it meanwhile.
    setImmediate(called, outcome)
    if (era === 'modern' && call.lacksForms) demandForms(outcome)
    return resultOf(outcome)
  }

  function beginTask(into: Tasks, asked: AskedCall, request: ClientRequest, ttl: number | undefined): CallToolResult {
    const task = into.begin(asked, request, ttl)
    void task.outcome.then(called)
    // The SDK accepts only results of calls, which have content.
    return { content: [], task: task.show() }
  }

  async function ask(call: OpenCall, question: OpenQuestion, asked: AskedCall): Promise<InputRequiredResult> {
    const { token, form } = question
    await calls.awaitAnswer(call, question, asked)
    return {
      resultType: 'input_required', inputRequests: { [form.name ?? ANSWER]: elicitationOf(form) }, requestState: token,
    }
  }

  function resultOf(outcome: Outcome): CallToolResult {
    if (outcome.type === 'error' && UNKNOWN.has(outcome.error.code)) {
      throw new ClientFault('InvalidParams', outcome.error_text)
    }
    const { outputSchema } = definitionOf(outcome.metadata.tool) ?? {}
    const result = callResult(outcome, outputSchema)
    return server.projectCallToolResult({ ...result, content: [...result.content, ...late()] }, outputSchema)
  }
}

/** The protocol allows no progress and log of a task. */
async function withoutReports(task: CallToolResult, { progress, log }: ClientRequest): Promise<CallToolResult> {
  progress.end()
  await log.end()
  return task
}

/** Errors that the protocol treats as invalid requests, not as failed calls. */
const UNKNOWN: ReadonlySet<string> = new Set(['ToolNotRegistered', 'ToolsDisabled'])

/** How a call ends that could not ask. */
const UNASKED: ReadonlySet<string> = new Set(['ApprovalDenied', 'InteractionUnavailable'])

/** Throws ClientFault if a call failed because its client has no forms. The older era has no error for that. */
function demandForms(outcome: Outcome): void {
  if (outcome.type !== 'error' || !UNASKED.has(outcome.error.code)) return
  throw missingCapability(outcome.error_text, { elicitation: { form: {} } })
}

/**
 * The MCP result of a call. Clients validate results against the output schema, and a truncated result may not match
 * it. It is returned as an error with the remaining text.
 */
export function callResult(outcome: Outcome, outputSchema: JsonObject | undefined): CallToolResult {
  const result = toMcp(outcome)
  const isFormed = outcome.type === 'output' && outputSchema !== undefined
  const isBroken = isFormed && outcome.metadata.truncated === true && !isWhole(outcome.data, outputSchema)
  const note = noteOfCut(outcome.metadata, isBroken ? ', and lacks required members' : '')
  const content: CallToolResult['content'] = [
    ...result.content, ...(note === undefined ? [] : [{ type: 'text', text: note } as const]),
  ]
  if (isBroken) return { content, isError: true }
  return { ...result, content, ...(isFormed ? { structuredContent: outcome.data } : {}) } as CallToolResult
}

/** Whether all required members are present. Truncated strings and lists keep their type. */
function isWhole(data: Json, { required }: JsonObject): boolean {
  if (!Array.isArray(required)) return true
  return isJsonObject(data) && required.every((name) => Object.hasOwn(data, String(name)))
}

/** The list of tools, and what the client last saw of it. */
export class ToolList {
  readonly #present: () => readonly ToolDefinition[]
  /** undefined until the client requests the list. */
  #known: { readonly names: string; readonly text: string } | undefined

  constructor(present: () => readonly ToolDefinition[]) {
    this.#present = present
  }

  /** The current list for the client. */
  show(): Tool[] {
    const tools = this.#present()
    const listed = tools.map(listedTool)
    this.#known = { names: namesOf(tools), text: JSON.stringify(listed) }
    return listed
  }

  /** Whether the list changed since the client last saw it. Reports each change once. */
  hasChanged(): boolean {
    if (this.#known === undefined) return false
    const { text } = this.#known
    this.show()
    return this.#known.text !== text
  }

  /** Like `hasChanged`, but compares only names first, because it runs after every call. */
  hasNewNames(): boolean {
    return this.#known !== undefined && this.#known.names !== namesOf(this.#present()) && this.hasChanged()
  }
}

const namesOf = (tools: readonly ToolDefinition[]): string => tools.map(({ name }) => name).join(' ')

/** The MCP definition of a tool. Our tool names are valid MCP names. */
export function listedTool(tool: ToolDefinition): Tool {
  const { name, label: title, description, inputSchema, outputSchema } = tool
  return {
    name, title, description,
    // MCP requires the type. Arguments are always an object.
    inputSchema: { ...structuredClone(inputSchema), type: 'object' } as Tool['inputSchema'],
    ...(outputSchema ? { outputSchema: structuredClone(outputSchema) as NonNullable<Tool['outputSchema']> } : {}),
    annotations: { title, ...hintsOf(tool) },
  }
}

/** Hints follow from the permissions of a tool, not only from its declared mode. In doubt they overstate the effect. */
function hintsOf({ mode, requires, idempotent, effects, executor }: ToolDefinition) {
  const isRemote = executor === 'remote'
  const changes = mayChange(requires)
  // The host keeps such a tool to it. What a server does cannot be seen.
  const isHarmless = effects === 'none' && !isRemote
  const reachesOut = mode === 'external' || mode === 'local' || isRemote
    || (requires.net?.hosts?.length ?? 0) > 0 || (requires.shell?.length ?? 0) > 0
  return {
    readOnlyHint: isHarmless || (mode === 'read' && !changes && !isRemote),
    destructiveHint: !isHarmless
      && (mode === 'destructive' || mode === 'local' || (mode !== 'read' && isRemote) || changes),
    idempotentHint: idempotent,
    openWorldHint: reachesOut,
  }
}
