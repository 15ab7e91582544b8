import { toToolSet } from '@bulkhead/bridges/ai-sdk'
import { generateText, isStepCount, type LanguageModel } from 'ai'
import type { Session } from '../../../bulkhead/src/index.ts'

export async function answer(session: Session, model: LanguageModel, prompt: string): Promise<string> {
  const { text } = await generateText({ model, prompt, tools: toToolSet(session), stopWhen: isStepCount(20) })
  return text
}
