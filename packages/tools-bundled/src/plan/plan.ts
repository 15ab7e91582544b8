import { defineTool, ToolError } from '@bulkhead/contract'
import { type Plan, PLAN_STATUSES, planText, planTurns, readPlan, writePlan } from '../model/session-plan.ts'

/** The user sees the whole plan in one question. */
const PLAN_CHARS = 8_000

export const tool = defineTool({
  label: 'Make a plan',
  description: 'Stores the plan of this session and returns it. Pass all steps each time, with their status. With '
    + '`enter`, the session is in plan mode: you can read and search, but the host denies calls that change '
    + 'something. To leave it, call plan_exit.',
  input: {
    type: 'object',
    properties: {
      steps: {
        type: 'array',
        maxItems: 50,
        description: 'All steps, in order. They replace the previous ones. Without them, the plan is only returned.',
        items: {
          type: 'object',
          properties: {
            step: { type: 'string', minLength: 1, maxLength: 500, description: 'What to do, in one sentence.' },
            status: { enum: PLAN_STATUSES, description: 'Default: pending.' },
          },
          required: ['step'],
          additionalProperties: false,
        },
      },
      enter: {
        type: 'boolean',
        description: 'true: enter plan mode. Until the user accepts the plan with plan_exit, calls that change something '
          + 'are denied.',
      },
    },
    additionalProperties: false,
  },
  requires: { capabilities: ['session'] },
  gated: false,
  mode: 'safe_write',
  kind: 'think',
  idempotent: true,
  execute: ({ steps, enter = false }, { session }) => planTurns.take(session, async () => {
    const before = await readPlan(session)
    const next: Plan = {
      steps: steps?.map(({ step, status = 'pending' }) => ({ step, status })) ?? before.steps,
      planning: before.planning || enter,
    }
    if (planText(next).length > PLAN_CHARS) {
      throw new ToolError('InputInvalid', `The plan has more than ${PLAN_CHARS} characters. Shorten its steps.`)
    }
    return writePlan(session, next)
  }),
  deriveApprovalKey: () => 'plan',
})
