import type { Outcome } from '@bulkhead/contract'
import { noteOfCut, toMcp } from '@bulkhead/contract/dialects'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { CallToolResult, InputRequiredResult, Server, ServerContext } from '@modelcontextprotocol/server'
import { ClientFault, type ClientRequest, type Era, readRequest } from './client-request.ts'
import type { AskedCall, OpenCall, OpenCalls, OpenQuestion } from './open-calls.ts'
import type { ShownList } from './tool-list.ts'

export interface ToolServerParts {
  readonly calls: OpenCalls
  readonly list: ShownList
  /** Told after every call: it may have changed what is shown. */
  readonly called: () => void
}

/** Connects tools to a server of the SDK. This checks the protocol only; the session applies the policies. */
export function serveToolsOn(server: Server, era: Era, { calls, list, called }: ToolServerParts): void {
  server.setRequestHandler('tools/list', () => ({ tools: list.show() }))
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const request = readRequest(era, server, context)
    const call = find(params, request, context)
    const step = await call.next(request)
    if (step.kind === 'asked') return ask(call, step.question)
    called()
    return resultOf(step.outcome)
  })

  function find(asked: AskedCall, request: ClientRequest, { mcpReq }: ServerContext): OpenCall {
    const token = mcpReq.requestState<unknown>()
    return token === undefined ? calls.begin(asked, request) : calls.goOn(token, asked, mcpReq.inputResponses?.[ANSWER])
  }

  function ask(call: OpenCall, question: OpenQuestion): InputRequiredResult {
    const { token, form: { message, requestedSchema } } = question
    calls.park(call, question)
    return {
      resultType: 'input_required',
      inputRequests: { [ANSWER]: { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } } },
      requestState: token,
    }
  }

  function resultOf(outcome: Outcome): CallToolResult {
    if (outcome.type === 'error' && UNKNOWN.has(outcome.error.code)) throw new ClientFault('InvalidParams', outcome.error_text)
    const { outputSchema } = list.tool(outcome.metadata.tool) ?? {}
    return server.projectCallToolResult(callResult(outcome, outputSchema), outputSchema)
  }
}

/** The one question that a result asks. */
const ANSWER = 'answer'

/** What the protocol counts as a wrong request, not as a call that failed. */
const UNKNOWN: ReadonlySet<string> = new Set(['ToolNotRegistered', 'ToolsDisabled'])

/**
 * The MCP result of a call. Clients validate results against the output schema, and a truncated result may not match it. It is
 * returned as an error with the remaining text.
 */
export function callResult(outcome: Outcome, outputSchema: JsonObject | undefined): CallToolResult {
  const result = toMcp(outcome)
  const isFormed = outcome.type === 'output' && outputSchema !== undefined
  const isBroken = isFormed && outcome.metadata.truncated === true && !isWhole(outcome.data, outputSchema)
  const note = noteOfCut(outcome.metadata, isBroken ? ', and lacks what the tool declares' : '')
  const content: CallToolResult['content'] = [...result.content, ...(note === undefined ? [] : [{ type: 'text', text: note } as const])]
  if (isBroken) return { content, isError: true }
  return { ...result, content, ...(isFormed ? { structuredContent: outcome.data } : {}) } as CallToolResult
}

/** Whether what must be there still is; texts and lists that were cut keep their form. */
function isWhole(data: Json, { required }: JsonObject): boolean {
  if (!Array.isArray(required)) return true
  return isJsonObject(data) && required.every((name) => Object.hasOwn(data, String(name)))
}
