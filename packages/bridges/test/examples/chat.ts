import { fromToolCall, toFunctionTools, ToolCallStream, toToolMessage } from '@bulkhead/bridges/openai'
import type { Host, Session } from '../../../bulkhead/src/index.ts'
import type OpenAI from 'openai'

type Show = (text: string) => void

export async function answer(
  client: OpenAI, host: Host, session: Session, prompt: string, show: Show,
): Promise<string> {
  const messages: OpenAI.Chat.Completions.ChatCompletionMessageParam[] = [{ role: 'user', content: prompt }]
  for (;;) {
    session.beginTurn()
    const tools = toFunctionTools(host.offeredTools(session), { strict: true })
    const stream = new ToolCallStream()
    let text = ''
    for await (const chunk of await client.chat.completions.create({ model: 'gpt-5', messages, tools, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? ''
      for (const partial of stream.add(chunk)) show(`${partial.name} ${partial.text}`)
    }
    const calls = stream.calls()
    const outcomes = await session.callAll(
      calls.map((call) => fromToolCall(call, { strict: true, tools: session.tools() })),
    )
    await session.endTurn()
    if (calls.length === 0) return text
    messages.push({ role: 'assistant', content: text, tool_calls: calls }, ...outcomes.map(toToolMessage))
  }
}
