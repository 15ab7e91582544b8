import { randomUUID } from 'node:crypto'
import { BulkheadError, type Outcome, type ToolDefinition } from '@bulkhead/contract'
import { ToolMessage, type ContentBlock } from '@langchain/core/messages'
import { DynamicStructuredTool, type ToolRunnableConfig } from '@langchain/core/tools'
import { hostCallId } from '../models/call-ids.ts'
import { OPENAI } from '../models/profiles.ts'
import { carriesCommon, resultParts, resultText, type ResultPart } from '../models/result-parts.ts'
import { providerTools, type ProviderTool } from '../models/tool-reports.ts'

/** The part of a session that the tools need. */
export interface LangChainSession {
  tools(): readonly ToolDefinition[]
  call(
    call: { readonly id: string; readonly name: string; readonly arguments: unknown },
    options: { readonly signal?: AbortSignal },
  ): Promise<Outcome>
}

export interface LangChainToolsOptions {
  /** The tools to offer. Default: all of the session. */
  readonly tools?: readonly ToolDefinition[]
}

/**
 * The tools of a session for LangChain. A tool that is invoked with a tool call returns a `ToolMessage`, whose artifact
 * is the outcome, and whose status is `error` if the call failed. Invoked with arguments only, it returns the content,
 * and rejects if the call failed.
 */
export const toLangChainTools = (
  session: LangChainSession, { tools = session.tools() }: LangChainToolsOptions = {},
): DynamicStructuredTool[] => providerTools(tools, OPENAI, false).map((each) => new SessionTool(session, each))

class SessionTool extends DynamicStructuredTool {
  constructor(session: LangChainSession, { tool, name, schema }: ProviderTool) {
    super({
      name, description: tool.description, schema,
      func: async (input, _, config: ToolRunnableConfig = {}) => {
        const { signal, toolCall: { id } = {} } = config
        const call = { id: id === undefined ? randomUUID() : hostCallId(id), name: tool.name, arguments: input }
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
