import { query, type Options } from '@anthropic-ai/claude-agent-sdk'
import { toCanUseTool, toClaudeServer, ToolApprovals } from '@bulkhead/bridges/claude-agent'
import type { Host } from '../../../bulkhead/src/index.ts'

/** `allow` asks the person. The question has what the call would touch, and the diff. */
export async function answer(
  host: Host, options: Options, prompt: string, allow: (question: string) => Promise<boolean>,
): Promise<string | undefined> {
  const approvals = new ToolApprovals()
  const session = await host.openSession({ approver: approvals })
  const canUseTool = toCanUseTool(session, {
    approvals,
    ask: async (tool, _input, { title = tool, description = '' }) => await allow(`${title}\n${description}`)
      ? { behavior: 'allow' } : { behavior: 'deny', message: 'The person said no.' },
  })
  const mcpServers = { bulkhead: toClaudeServer(session, { approvals }) }
  let text: string | undefined
  // Without `tools: []` the agent has its own tools for files and commands, which the host does not control.
  for await (const message of query({ prompt, options: { ...options, tools: [], mcpServers, canUseTool } })) {
    if (message.type === 'result' && message.subtype === 'success') text = message.result
  }
  await session.close()
  return text
}
