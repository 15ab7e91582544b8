import { BulkheadError, type Outcome } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { tool as functionTool, type FunctionTool, type ToolCallOutputContent } from '@openai/agents'
import { runCall } from '../models/call-approvals.ts'
import { OPENAI, type ModelProfile } from '../models/profiles.ts'
import { carriesCommon, isData, resultParts, resultText, type ResultPart } from '../models/result-parts.ts'
import { sessionTools, type AgentToolsOptions, type AskingSession, type SessionTool } from '../models/session-tools.ts'
import type { ToolApprovals } from './tool-approvals.ts'

/** The part of a session that the tools need. */
export type AgentToolsSession = AskingSession

type Schema = FunctionTool['parameters']
/** A tool whose parameters are a JSON schema. */
export type AgentTool = FunctionTool<unknown, Schema, unknown>

export interface OpenAIAgentToolsOptions extends AgentToolsOptions {
  /**
   * Asks for approval by interruptions of the run. Pass the approver that the session was opened with. Without it, the
   * session asks its own person while the tool runs.
   */
  readonly approvals?: ToolApprovals
}

/**
 * The tools of a session for an `Agent`. Images and PDF files of a result are sent as such. A call that fails is an
 * error of the tool, and the model gets its text. Throws ConfigInvalid in code mode without `tools`.
 */
export const toAgentTools = (session: AgentToolsSession, options: OpenAIAgentToolsOptions = {}): AgentTool[] =>
  sessionTools(session, options, PROFILE).map((each) => agentTool(session, each, options.approvals))

/** The SDK replaces other characters, and would not find the tool again. */
const PROFILE: ModelProfile = { ...OPENAI, names: { ...OPENAI.names, illegal: /[^A-Za-z0-9_]/g } }

function agentTool(
  session: AgentToolsSession, { tool, name, schema, callOf }: SessionTool, approvals: ToolApprovals | undefined,
): AgentTool {
  // The SDK knows schemas of objects only.
  const { outputSchema: own } = tool
  const outputSchema = own?.['type'] === 'object' ? structuredClone(own) as never : undefined
  return functionTool<Schema, unknown, unknown, Schema | undefined>({
    name, description: tool.description, strict: false, parameters: schema as never, outputSchema,
    async execute(input, context, details = {}) {
      const { toolCall: { callId } = { callId: crypto.randomUUID() }, signal } = details
      const isApproved = context?.isToolApproved({ toolName: name, callId }) === true && approvals?.redeem(callId)
      const call = callOf(input, callId)
      const outcome = await runCall(session, call, signal ? { signal } : {}, approvals, isApproved)
      return outputSchema && isData(outcome) ? outcome.data : resultOf(outcome)
    },
    errorFunction: (_, error) => error instanceof BulkheadError ? error.message : messageOf(error),
    ...(approvals && {
      async needsApproval(context, input, callId = '') {
        const isAnswered = context.isToolApproved({ toolName: name, callId }) !== undefined
        return await approvals.ask(session, callOf(input, callId), isAnswered) !== undefined
      },
    }),
  })
}

/** Throws if the call failed, so that the SDK records the error. */
function resultOf(outcome: Outcome): string | ToolCallOutputContent[] {
  if (outcome.type === 'error') {
    throw new BulkheadError(outcome.error.code, resultText(outcome), { data: outcome.error.data ?? null })
  }
  const parts = resultParts(outcome, carriesCommon)
  return parts.some(({ type }) => type === 'media') ? parts.map(contentOf) : resultText(outcome)
}

function contentOf(part: ResultPart): ToolCallOutputContent {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const { kind, mimeType: mediaType, data, name: filename } = part
  return kind === 'image'
    ? { type: 'image', image: { data, mediaType } } : { type: 'file', file: { data, mediaType, filename } }
}
