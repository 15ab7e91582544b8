import { fromFunctionCall, toFunctionDeclarations, toFunctionResponse } from '@bulkhead/bridges/gemini'
import type { Content, GoogleGenAI } from '@google/genai'
import type { Session } from '../../../bulkhead/src/index.ts'

export async function answer(session: Session, { models }: GoogleGenAI, prompt: string): Promise<string | undefined> {
  const tools = session.tools()
  const config = { tools: [{ functionDeclarations: toFunctionDeclarations(tools) }] }
  const contents: Content[] = [{ role: 'user', parts: [{ text: prompt }] }]
  for (;;) {
    const {
      candidates, functionCalls = [], text,
    } = await models.generateContent({ model: 'gemini-3-pro', contents, config })
    if (functionCalls.length === 0) return text
    const outcomes = await session.callAll(functionCalls.map((call) => fromFunctionCall(call, { tools })))
    const parts = outcomes.map((outcome, index) => ({
      functionResponse: toFunctionResponse(functionCalls[index]!, outcome),
    }))
    // The content of the model has to be returned as it is: it contains signatures.
    contents.push(candidates![0]!.content!, { role: 'user', parts })
  }
}
