import type { SessionMemory } from '@bulkhead/contract'
import { isJsonObject } from '@bulkhead/kit/json'
import { SessionTurns } from './session-turns.ts'

export const PLAN_STATUSES = ['pending', 'in_progress', 'completed', 'cancelled'] as const

interface PlanStep {
  readonly step: string
  readonly status: (typeof PLAN_STATUSES)[number]
}

/** The plan of a session. The host reads from it whether the session is in plan mode. */
export interface Plan {
  readonly steps: readonly PlanStep[]
  readonly planning: boolean
}

/** A plan that was read before another call entered plan mode would leave it. */
export const planTurns = new SessionTurns()

export async function readPlan(session: SessionMemory): Promise<Plan> {
  const data = await session.read()
  return isJsonObject(data) ? data as unknown as Plan : { steps: [], planning: false }
}

export async function writePlan(session: SessionMemory, { steps, planning }: Plan): Promise<Plan> {
  await session.write({ steps: steps.map((step) => ({ ...step })), planning })
  return { steps, planning }
}

/** One line per step, so that no step can look like two. */
export const planText = ({ steps }: Plan): string => steps.map(({ step, status }, index) =>
  `${index + 1}. ${step.replaceAll(/\s+/g, ' ').trim()}${status === 'pending' ? '' : ` (${status.replace('_', ' ')})`}`,
).join('\n')
