import type { CallToolResult, InputRequiredResult, Server, ServerContext } from '@modelcontextprotocol/server'
import type { Outcome } from '@bulkhead/contract'
import { callResult } from './call-result.ts'
import { ClientFault } from './client-fault.ts'
import { readRequest, type ClientRequest, type Era } from './client-request.ts'
import type { AskedCall, OpenCall, OpenQuestion } from './open-call.ts'
import type { OpenCalls } from './open-calls.ts'
import type { ShownList } from './shown-list.ts'

export interface ToolServerParts {
  readonly calls: OpenCalls
  readonly list: ShownList
  /** Told after every call: it may have changed what is shown. */
  readonly called: () => void
}

/** Makes a server of the SDK answer for tools. What is checked here is the protocol; calls are judged by the session. */
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
