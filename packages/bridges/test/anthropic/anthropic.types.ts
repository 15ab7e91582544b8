/** Our values are those of Anthropic's own SDK, and its values are ours. This file fails to compile otherwise. */
import type Anthropic from '@anthropic-ai/sdk'
import type { Outcome, ToolDefinition } from '@bulkhead/contract'
import * as anthropic from '../../src/anthropic/index.ts'

declare const client: Anthropic
declare const tools: readonly ToolDefinition[]
declare const outcome: Outcome

export async function converse(): Promise<readonly anthropic.ToolUseBlock[]> {
  const params: Anthropic.MessageCreateParams = {
    model: 'm', max_tokens: 1, tools: anthropic.toMessagesTools(tools, { strict: true }),
    messages: [{ role: 'user', content: [anthropic.toToolResult(outcome)] }],
  }
  const { content } = await client.messages.create({ ...params, stream: false })
  for (const block of content) if (block.type === 'tool_use') anthropic.fromToolUse(block, { tools })
  const beta = await client.beta.messages.create({
    model: 'm', max_tokens: 1, messages: [], tools: anthropic.toMessagesTools(tools),
  })
  for (const block of beta.content) if (block.type === 'tool_use') anthropic.fromToolUse(block, { tools })
  const stream = new anthropic.ToolUseStream()
  for await (const event of await client.messages.create({ ...params, stream: true })) stream.add(event)
  return stream.calls()
}
