/** Our server and answers are those of the Claude Agent SDK. This file fails to compile otherwise. */
import { query, type CanUseTool, type McpServerConfig, type Query } from '@anthropic-ai/claude-agent-sdk'
import { toCanUseTool, toClaudeServer, ToolApprovals, type ClaudeSession } from '../../src/claude-agent/index.ts'

declare const session: ClaudeSession
declare const ask: CanUseTool

export function converse(): Query {
  const approvals = new ToolApprovals()
  const bulkhead: McpServerConfig = toClaudeServer(session, { approvals })
  return query({
    prompt: 'Go.', options: { mcpServers: { bulkhead }, canUseTool: toCanUseTool(session, { approvals, ask }) },
  })
}
