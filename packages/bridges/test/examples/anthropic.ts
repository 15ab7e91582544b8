import type { Message, MessageCreateParamsNonStreaming, MessageParam } from '@anthropic-ai/sdk/resources/messages'
import { fromToolUse, toMessagesTools, toToolResult } from '@bulkhead/bridges/anthropic'
import type { Session } from '../../../bulkhead/src/index.ts'

/** `create`: `(params) => client.messages.create(params)`. */
export async function answer(
  session: Session, create: (params: MessageCreateParamsNonStreaming) => Promise<Message>, prompt: string,
): Promise<Message> {
  const tools = session.tools()
  const messages: MessageParam[] = [{ role: 'user', content: prompt }]
  for (;;) {
    const message = await create({
      model: 'claude-opus-4-5', max_tokens: 4096, messages, tools: toMessagesTools(tools),
    })
    const uses = message.content.filter((block) => block.type === 'tool_use')
    if (uses.length === 0) return message
    const outcomes = await session.callAll(uses.map((block) => fromToolUse(block, { tools })))
    messages.push(
      { role: 'assistant', content: message.content }, { role: 'user', content: outcomes.map(toToolResult) },
    )
  }
}
