import { fromResponseItems, toFunctionCallOutput, toResponseTools } from '@bulkhead/bridges/openai'
import type { Host, Session } from '../../../bulkhead/src/index.ts'
import type OpenAI from 'openai'

export async function answer(client: OpenAI, host: Host, session: Session, prompt: string): Promise<string> {
  let input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: prompt }]
  let previous: string | null = null
  for (;;) {
    session.beginTurn()
    const tools = toResponseTools(host.offeredTools(session), { strict: true })
    const response: OpenAI.Responses.Response = await client.responses.create({
      model: 'gpt-5', input, tools, previous_response_id: previous,
    })
    const calls = fromResponseItems(response.output, { strict: true, tools: session.tools() })
    const outcomes = await session.callAll(calls)
    await session.endTurn()
    if (calls.length === 0) return response.output_text
    input = outcomes.map(toFunctionCallOutput)
    previous = response.id
  }
}
