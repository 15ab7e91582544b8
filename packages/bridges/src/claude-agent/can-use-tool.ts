import type { CanUseTool } from '@anthropic-ai/claude-agent-sdk'
import type { ToolDefinition } from '@bulkhead/contract'
import { sessionTools } from '../models/session-tools.ts'
import { questionText } from '../questions/question-form.ts'
import { PROFILE, SERVER_NAME, type ClaudeSession } from './claude-server.ts'
import type { ToolApprovals } from './tool-approvals.ts'

export interface CanUseToolOptions {
  /** As passed to `toClaudeServer`, like the tools and the name. */
  readonly approvals: ToolApprovals
  readonly tools?: readonly ToolDefinition[]
  readonly name?: string
  /**
   * Asks the person about a call of a tool of the session: `title` is the question, `description` adds what the call
   * would touch and the diff. Also called for tools of others, as the SDK calls it.
   */
  readonly ask: CanUseTool
}

/** The `canUseTool` of a query. What the policy of the session decides without a person goes to the host unasked. */
export function toCanUseTool(
  session: ClaudeSession, { approvals, tools = session.tools(), name = SERVER_NAME, ask }: CanUseToolOptions,
): CanUseTool {
  const byName = new Map(sessionTools(session, { tools }, PROFILE).map((tool) => [`mcp__${name}__${tool.name}`, tool]))
  return async (toolName, input, options) => {
    const { toolUseID, mcpServer } = options
    // Older versions of the agent do not say which server it is.
    const isOurs = mcpServer === undefined || (mcpServer.source === 'sdk' && mcpServer.name === name)
    const tool = isOurs ? byName.get(toolName) : undefined
    if (tool === undefined) return ask(toolName, input, options)
    const question = await approvals.ask(session, tool.callOf(input, toolUseID))
    if (question === undefined) return { behavior: 'allow', updatedInput: input }
    const [title, ...description] = question === true ? [] : questionText(question).split('\n')
    const answer = await ask(toolName, input, {
      ...options, ...(title !== undefined && { title, description: description.join('\n') }),
    })
    if (answer?.behavior !== 'allow') return answer
    // The person may have changed the input. The approval is for what runs.
    const { updatedInput = input } = answer
    if (updatedInput !== input) await approvals.ask(session, tool.callOf(updatedInput, toolUseID))
    approvals.grant(toolUseID)
    return { ...answer, updatedInput }
  }
}
