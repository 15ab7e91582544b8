/** Our values are those of OpenAI's own SDK, and its values are ours. This file fails to compile otherwise. */
import type { Outcome, ToolDefinition } from '@bulkhead/contract'
import type OpenAI from 'openai'
import * as deepseek from '../../src/deepseek.ts'
import * as openai from '../../src/openai/index.ts'

declare const client: OpenAI
declare const tools: readonly ToolDefinition[]
declare const outcome: Outcome
declare const chunk: OpenAI.Chat.Completions.ChatCompletionChunk
declare const event: OpenAI.Responses.ResponseStreamEvent

export async function chat(): Promise<readonly OpenAI.Chat.Completions.ChatCompletionMessageParam[]> {
  const { choices: [choice] } = await client.chat.completions.create({
    model: 'm', messages: [openai.toToolMessage(outcome)], tools: openai.toFunctionTools(tools, { strict: true }),
  })
  const calls = choice!.message.tool_calls!.map((call) => openai.fromToolCall(call, { tools }))
  const stream = new openai.ToolCallStream()
  stream.add(chunk)
  stream.calls() satisfies OpenAI.Chat.Completions.ChatCompletionMessageToolCall[]
  openai.toFunctionTool(tools[0]!) satisfies OpenAI.Chat.Completions.ChatCompletionFunctionTool
  return [{ role: 'assistant', tool_calls: stream.calls() }, { role: 'user', content: calls[0]!.name }]
}

export async function responses(): Promise<readonly openai.HostCall[]> {
  const { output } = await client.responses.create({
    model: 'm', input: [openai.toFunctionCallOutput(outcome)], tools: openai.toResponseTools(tools, { strict: true }),
  })
  const stream = new openai.ResponseCallStream()
  stream.add(event)
  stream.calls() satisfies OpenAI.Responses.ResponseInputItem[]
  openai.toResponseTools(tools) satisfies OpenAI.Responses.FunctionTool[]
  openai.toFunctionCallOutput(outcome) satisfies OpenAI.Responses.ResponseInputItem.FunctionCallOutput
  return openai.fromResponseItems(output, { strict: true, tools })
}

/** DeepSeek is used with the same SDK and another base URL. */
export async function deepSeek(): Promise<void> {
  const { choices: [choice] } = await client.chat.completions.create({
    model: 'm', messages: [deepseek.toToolMessage(outcome)], tools: deepseek.toFunctionTools(tools),
  })
  for (const call of choice!.message.tool_calls ?? []) deepseek.fromToolCall(call)
}
