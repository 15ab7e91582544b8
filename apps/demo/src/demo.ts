import { fromToolCall, toFunctionTools, toToolMessage, type ModelToolMessage } from '@bulkhead/bridges/openai'
import type { Interactor, Outcome, Session } from 'bulkhead'
import type { Reporter } from './reporter.ts'
import { differences, SCENARIOS, scriptedModel, type Model } from './scenarios.ts'
import type { Stage } from './stage.ts'

/** Plays every scenario in one session of a real host. Resolves with the number of scenarios that failed. */
export async function playDemo(stage: Stage, reporter: Reporter): Promise<number> {
  const { host } = stage
  let answer: 'session' | 'reject' = 'session'
  const person: Interactor = {
    async interact({ request }) {
      if (request.kind !== 'Approve') return { status: 'rejected' }
      reporter.approval(request.approval, answer)
      return { status: 'accepted', value: { decision: answer, by: 'you' } }
    },
  }
  const off = host.on((event) => {
    if (event.type === 'ToolInvocationProgress') reporter.progress(event.text)
  })
  const session = await host.openSession({ mode: 'ask', interactor: person })
  let failed = 0
  for (const scenario of SCENARIOS) {
    reporter.title(scenario.title)
    answer = scenario.answer ?? 'session'
    if (scenario.before) reporter.operator(await scenario.before(stage))
    const outcomes = await runAgent(scriptedModel(() => scenario.script(stage)), session, reporter)
    const faults = differences(scenario.expected, outcomes)
    reporter.verdict(faults, scenario.shows)
    if (faults.length > 0) failed++
  }
  off()
  return failed
}

/** A complete agent loop: asks the model, runs its calls and returns the results, until it makes no more calls. */
async function runAgent(model: Model, session: Session, reporter: Reporter): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = []
  let answers: readonly ModelToolMessage[] = []
  for (;;) {
    const turn = model.turn(toFunctionTools(session.tools()), answers)
    if (turn.text !== '') reporter.model(turn.text)
    if (turn.calls.length === 0) return outcomes
    const results: Outcome[] = []
    for (const call of turn.calls) {
      reporter.call(call)
      const outcome = await session.call(fromToolCall(call))
      reporter.outcome(outcome)
      results.push(outcome)
    }
    outcomes.push(...results)
    answers = results.map(toToolMessage)
  }
}
