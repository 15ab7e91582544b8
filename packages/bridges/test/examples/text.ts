import { fromAnswer, toInstructions, toResultsMessage } from '@bulkhead/bridges/text'
import type { Host, Session } from '../../../bulkhead/src/index.ts'

interface Message { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }
type Ask = (messages: readonly Message[]) => Promise<string>

export async function answer(ask: Ask, host: Host, session: Session, prompt: string): Promise<string> {
  const messages: Message[] = [
    { role: 'system', content: toInstructions(host.offeredTools(session)) }, { role: 'user', content: prompt },
  ]
  for (;;) {
    session.beginTurn()
    const text = await ask(messages)
    const { calls, errors, prose } = fromAnswer(text, { tools: session.tools() })
    const outcomes = await session.callAll(calls)
    await session.endTurn()
    if (calls.length === 0 && errors.length === 0) return prose
    messages.push({ role: 'assistant', content: text }, { role: 'user', content: toResultsMessage(outcomes, errors) })
  }
}
