import { fromToolCall, toFunctionTools, toToolMessage, type ModelToolMessage } from '@bulkhead/bridges/openai'
import type { Outcome, Session } from 'bulkhead'
import type { Model } from './scripted-model.ts'
import type { Story } from './story.ts'

/** A complete agent loop: asks the model, runs its calls and returns the results, until it makes no more calls. */
export async function runAgent(model: Model, session: Session, story: Story): Promise<readonly Outcome[]> {
  const tools = toFunctionTools(session.tools())
  const outcomes: Outcome[] = []
  let answers: readonly ModelToolMessage[] = []
  for (;;) {
    const turn = model.turn(tools, answers)
    story.model(turn.text)
    if (turn.calls.length === 0) return outcomes
    const results: Outcome[] = []
    for (const call of turn.calls) {
      story.call(call)
      const outcome = await session.call(fromToolCall(call))
      story.outcome(outcome)
      results.push(outcome)
    }
    outcomes.push(...results)
    answers = results.map(toToolMessage)
  }
}
