import {
  BulkheadError, defineExtension, ToolError, type FromJsonSchema, type Interact, type ManifestInput,
  type SessionMemory,
} from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'
import { isJsonObject } from '@bulkhead/kit/json'
import { BUNDLED } from '../model/bundled-extension.ts'
import { SessionTurns } from '../model/session-turns.ts'

const PLAN_SCHEMA = {
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
          status: { enum: ['pending', 'in_progress', 'completed', 'cancelled'], description: 'Default: pending.' },
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
} as const

const EXIT_SCHEMA = {
  type: 'object',
  properties: {
    summary: { type: 'string', maxLength: 1000, description: 'What the user should know before deciding.' },
  },
  additionalProperties: false,
} as const

/** The user sees the whole plan in one question. */
const PLAN_CHARS = 8_000
const PLAN_REQUIRES = { capabilities: ['session' as const] }
const EXIT_REQUIRES = { capabilities: ['session' as const, 'interact' as const] }

const manifest = {
  ...BUNDLED,
  // The host reads from the memory of this extension whether a session is in plan mode.
  id: 'plan',
  tools: [{
    name: 'plan',
    label: 'Make a plan',
    description: 'Stores the plan of this session and returns it. Pass all steps each time, with their status. With '
      + '`enter`, the session is in plan mode: you can read and search, but the host denies calls that change '
      + 'something. To leave it, call plan_exit.',
    inputSchema: PLAN_SCHEMA,
    requires: PLAN_REQUIRES,
    gated: false,
    mode: 'safe_write',
    kind: 'think',
    idempotent: true,
  }, {
    name: 'plan_exit',
    label: 'Present the plan',
    description: 'Shows the plan to the user, who accepts it, wants changes or rejects it, and returns the decision '
      + 'and a comment. Accepting ends plan mode. Call it when the plan is complete.',
    inputSchema: EXIT_SCHEMA,
    requires: EXIT_REQUIRES,
    gated: false,
    mode: 'read',
    kind: 'switch_mode',
  }],
} satisfies ManifestInput

type Step = Required<NonNullable<FromJsonSchema<typeof PLAN_SCHEMA>['steps']>[number]>

interface Plan {
  readonly steps: readonly Step[]
  readonly planning: boolean
}

/** A plan that was read before another call entered plan mode would leave it. */
const turns = new SessionTurns()

export const plan = {
  manifest,
  module: defineExtension({
    tools: {
      plan: {
        input: PLAN_SCHEMA,
        requires: PLAN_REQUIRES,
        execute: ({ steps, enter = false }, { session }) => turns.take(session, async () => {
          const before = await readPlan(session)
          const next: Plan = {
            steps: steps?.map(({ step, status = 'pending' }) => ({ step, status })) ?? before.steps,
            planning: before.planning || enter,
          }
          if (textOf(next).length > PLAN_CHARS) {
            const message = `The plan has more than ${PLAN_CHARS} characters. Shorten its steps.`
            throw new ToolError('InputInvalid', message)
          }
          return write(session, next)
        }),
        deriveApprovalKey: () => 'plan',
      },
      plan_exit: {
        input: EXIT_SCHEMA,
        requires: EXIT_REQUIRES,
        async execute({ summary }, { session, interact }) {
          const before = await readPlan(session)
          if (before.steps.length === 0) {
            throw new ToolError('InputInvalid', 'There is no plan to present. Store one with the tool plan first.')
          }
          const { decision, comment } = await present(before, summary, interact).catch(explain)
          return turns.take(session, async () => {
            // Read again: the plan may have changed while the user decided.
            const shown = await readPlan(session)
            if (textOf(shown) !== textOf(before)) {
              throw new ToolError('ToolExecutionFailed', 'The plan changed while the user read it. Present it again.')
            }
            const { planning } = decision === 'accepted' ? await write(session, { ...shown, planning: false }) : shown
            return { decision, ...(comment !== undefined && { comment }), planning }
          })
        },
        deriveApprovalKey: () => 'plan',
      },
    },
  }),
}

async function readPlan(session: SessionMemory): Promise<Plan> {
  const data = await session.read()
  return isJsonObject(data) ? data as unknown as Plan : { steps: [], planning: false }
}

async function write(session: SessionMemory, { steps, planning }: Plan): Promise<Plan> {
  await session.write({ steps: steps.map((step) => ({ ...step })), planning })
  return { steps, planning }
}

/** One line per step, so that no step can look like two. */
const textOf = ({ steps }: Plan): string => steps.map(({ step, status }, index) =>
  `${index + 1}. ${step.replaceAll(/\s+/g, ' ').trim()}${status === 'pending' ? '' : ` (${status.replace('_', ' ')})`}`,
).join('\n')

interface Presented {
  readonly decision: 'accepted' | 'keep_planning' | 'rejected'
  readonly comment?: string
}

const ACCEPT = { label: 'Accept', description: 'End plan mode and start the work.' }
const KEEP = { label: 'Keep planning', description: 'Say what to change.' }
const REJECT = { label: 'Reject', description: 'Do not do this. Say why.' }

async function present(shown: Plan, summary: string | undefined, interact: Interact): Promise<Presented> {
  const prompt = [...(summary ? [summary] : []), 'The plan:', textOf(shown), 'Do you accept it?'].join('\n')
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
