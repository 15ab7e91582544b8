import { BulkheadError, defineTool, ToolError, type Interact } from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'
import { type Plan, planText, planTurns, readPlan, writePlan } from '../model/session-plan.ts'

/** The plan is in the memory of this extension. */
export const extension = 'plan'

export const tool = defineTool({
  label: 'Present the plan',
  description: 'Shows the plan to the user, who accepts it, wants changes or rejects it, and returns the decision '
    + 'and a comment. Accepting ends plan mode. Call it when the plan is complete.',
  input: {
    type: 'object',
    properties: {
      summary: { type: 'string', maxLength: 1000, description: 'What the user should know before deciding.' },
    },
    additionalProperties: false,
  },
  requires: { capabilities: ['session', 'interact'] },
  gated: false,
  mode: 'read',
  kind: 'switch_mode',
  async execute({ summary }, { session, interact }) {
    const before = await readPlan(session)
    if (before.steps.length === 0) {
      throw new ToolError('InputInvalid', 'There is no plan to present. Store one with the tool plan first.')
    }
    const { decision, comment } = await present(before, summary, interact).catch(explain)
    return planTurns.take(session, async () => {
      // Read again: the plan may have changed while the user decided.
      const shown = await readPlan(session)
      if (planText(shown) !== planText(before)) {
        throw new ToolError('ToolExecutionFailed', 'The plan changed while the user read it. Present it again.')
      }
      const { planning } = decision === 'accepted' ? await writePlan(session, { ...shown, planning: false }) : shown
      return { decision, ...(comment !== undefined && { comment }), planning }
    })
  },
  deriveApprovalKey: () => 'plan',
})

interface Presented {
  readonly decision: 'accepted' | 'keep_planning' | 'rejected'
  readonly comment?: string
}

const ACCEPT = { label: 'Accept', description: 'End plan mode and start the work.' }
const KEEP = { label: 'Keep planning', description: 'Say what to change.' }
const REJECT = { label: 'Reject', description: 'Do not do this. Say why.' }

async function present(shown: Plan, summary: string | undefined, interact: Interact): Promise<Presented> {
  const prompt = [...(summary ? [summary] : []), 'The plan:', planText(shown), 'Do you accept it?'].join('\n')
  const answer = await interact.select(prompt, [ACCEPT, KEEP, REJECT])
  if (answer === ACCEPT.label) return { decision: 'accepted' }
  const isRejected = answer === REJECT.label
  const comment = await interact.ask(isRejected ? 'Why do you reject the plan?' : 'What should change?')
  return { decision: isRejected ? 'rejected' : 'keep_planning', comment }
}

/** The answer for the model if there is no person to ask. Fixed, so that callers can rely on it. */
export const NO_USER_FOR_PLAN = 'No person can accept the plan here. Give the plan as your answer.'

function explain(error: unknown): never {
  if (errorCode(error) !== 'InteractionUnavailable') throw error
  throw new BulkheadError('InteractionUnavailable', NO_USER_FOR_PLAN)
}
