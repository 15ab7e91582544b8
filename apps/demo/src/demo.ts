import { join } from 'node:path'
import { fromToolCall, toFunctionTools, toToolMessage, type ModelToolMessage } from '@bulkhead/bridges/openai'
import { createHost, type Interactor, type Outcome, type Session } from 'bulkhead'
import { differences, SCENARIOS, scriptedModel, type Model } from './scenarios.ts'
import type { Reporter } from './reporter.ts'

const HERE = join(import.meta.dirname, '..')

/** Plays every scenario against a real host. Resolves with the number of scenarios that failed. */
export async function playDemo(reporter: Reporter): Promise<number> {
  const host = await createHost({ workspace: join(HERE, 'workspace'), home: join(HERE, 'extensions') })
  const off = host.on((event) => {
    if (event.type === 'ToolInvocationProgress') reporter.progress(event.text)
  })
  let failed = 0
  try {
    for (const scenario of SCENARIOS) {
      reporter.title(scenario.title)
      const session = await host.openSession({ mode: 'ask', interactor: approvingUser(reporter) })
      const faults = differences(scenario.expected, await runAgent(scriptedModel(scenario.script), session, reporter))
      await session.close()
      reporter.verdict(faults)
      if (faults.length > 0) failed++
    }
  } finally {
    off()
    await host.close()
  }
  return failed
}

/** A complete agent loop: asks the model, runs its calls and returns the results, until it makes no more calls. */
async function runAgent(model: Model, session: Session, reporter: Reporter): Promise<readonly Outcome[]> {
  const tools = toFunctionTools(session.tools())
  const outcomes: Outcome[] = []
  let answers: readonly ModelToolMessage[] = []
  for (;;) {
    const turn = model.turn(tools, answers)
    reporter.model(turn.text)
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

/** Approves every request for the session, so that the output shows when approval is required. */
function approvingUser(reporter: Reporter): Interactor {
  return {
    async interact({ request }) {
      if (request.kind !== 'Approve') return { status: 'rejected' }
      reporter.approval(request.approval, 'yes, for this session')
      return { status: 'accepted', value: { decision: 'session' } }
    },
  }
}
