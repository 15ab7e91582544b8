import type { streamText } from 'ai'
import { convertArrayToReadableStream, MockLanguageModelV4 } from 'ai/test'

// For the tests of packages that do not install the SDK.
export { dynamicTool, generateText, isStepCount, jsonSchema, streamText, ToolLoopAgent } from 'ai'
export type { ModelMessage, ToolModelMessage } from 'ai'

/** What the model says in one step: text, or calls of tools. */
export type Said = string | readonly { readonly id?: string; readonly name: string; readonly input: unknown }[]

type StreamPart =
  Awaited<ReturnType<MockLanguageModelV4['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 },
}

/** The mock model of the SDK, which says these things, one each step. */
export function scriptedModel(...script: readonly Said[]): MockLanguageModelV4 {
  const steps = [...script]
  const next = () => {
    const said = steps.shift() ?? 'done'
    const content =
      typeof said === 'string'
        ? [{ type: 'text' as const, text: said }]
        : said.map(({ id = 'call-1', name, input }) => ({
            type: 'tool-call' as const, toolCallId: id, toolName: name,
            input: typeof input === 'string' ? input : JSON.stringify(input),
          }))
    const reason = typeof said === 'string' ? 'stop' as const : 'tool-calls' as const
    return { content, finishReason: { unified: reason, raw: reason } }
  }
  return new MockLanguageModelV4({
    doGenerate: async () => ({ ...next(), usage: USAGE, warnings: [] }),
    doStream: async () => {
      const { content, finishReason } = next()
      const parts: StreamPart[] = content.flatMap((part): StreamPart[] =>
        part.type === 'tool-call'
          ? [part]
          : [
              { type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: part.text },
              { type: 'text-end', id: 't' },
            ],
      )
      return {
        stream: convertArrayToReadableStream<StreamPart>([
          { type: 'stream-start', warnings: [] }, ...parts, { type: 'finish', usage: USAGE, finishReason },
        ]),
      }
    },
  })
}

/** The last message that the model got. */
export function lastPrompt({ doGenerateCalls, doStreamCalls }: MockLanguageModelV4) {
  const { prompt } = [...doGenerateCalls, ...doStreamCalls].at(-1)!
  return prompt.at(-1)
}

/** What `generateText` returns, of a stream. */
export async function untilEnd(result: ReturnType<typeof streamText>) {
  await result.consumeStream()
  return { content: await result.content, responseMessages: await result.responseMessages }
}
