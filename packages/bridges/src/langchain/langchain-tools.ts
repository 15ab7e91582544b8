import { randomUUID } from 'node:crypto'
import { BulkheadError, type Outcome } from '@bulkhead/contract'
import { ToolMessage, type ContentBlock } from '@langchain/core/messages'
import { DynamicStructuredTool, type ToolRunnableConfig } from '@langchain/core/tools'
import { hostCallId } from '../models/call-ids.ts'
import { OPENAI } from '../models/profiles.ts'
import { carriesCommon, resultParts, resultText, type ResultPart } from '../models/result-parts.ts'
import { sessionTools, type AgentSession, type AgentToolsOptions, type SessionTool } from '../models/session-tools.ts'

/** The part of a session that the tools need. */
export type LangChainSession = AgentSession

export type LangChainToolsOptions = AgentToolsOptions

/**
 * The tools of a session for LangChain. A tool that is invoked with a tool call returns a `ToolMessage`, whose artifact
 * is the outcome, and whose status is `error` if the call failed. Invoked with arguments only, it returns the content,
 * and rejects if the call failed. Throws ConfigInvalid in code mode without `tools`.
 */
export const toLangChainTools = (
  session: LangChainSession, options: LangChainToolsOptions = {},
): DynamicStructuredTool[] => sessionTools(session, options, OPENAI).map((each) => new LangChainTool(session, each))

class LangChainTool extends DynamicStructuredTool {
  constructor(session: LangChainSession, { tool, name, schema, callOf }: SessionTool) {
    super({
      name, description: tool.description, schema,
      func: async (input, _, config: ToolRunnableConfig = {}) => {
        const { signal, toolCall: { id } = {} } = config
        const call = callOf(input, id === undefined ? randomUUID() : hostCallId(id))
        const outcome = await session.call(call, signal ? { signal } : {})
        if (id !== undefined) return toToolMessage(outcome, id, name)
        if (outcome.type === 'output') return contentOf(outcome)
        throw new BulkheadError(outcome.error.code, outcome.error_text, { data: outcome.error.data ?? null })
      },
    })
  }

  /**
   * The host validates. LangChain would reject what the host accepts, such as null for an optional argument, and would
   * run expressions from the schema, which may come from anyone.
   */
  override invoke: DynamicStructuredTool['invoke'] = (input, config) =>
    super.invoke.call(Object.create(this, { schema: { value: {} } }), input, config) as never
}

const toToolMessage = (outcome: Outcome, id: string, name: string): ToolMessage => new ToolMessage({
  tool_call_id: id, name, content: contentOf(outcome), artifact: outcome,
  status: outcome.type === 'error' ? 'error' : 'success',
})

function contentOf(outcome: Outcome): string | ContentBlock.Standard[] {
  const parts = outcome.type === 'error' ? [] : resultParts(outcome, carriesCommon)
  return parts.some(({ type }) => type === 'media') ? parts.map(contentBlock) : resultText(outcome)
}

function contentBlock(part: ResultPart): ContentBlock.Standard {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const { kind, mimeType, data } = part
  return { type: kind, mimeType, data }
}
