import type { MachineStage, StateMachine } from '@bulkhead/contract'
import { isPromiseLike } from '../model/promise-like.ts'

/** Where the machine stands now. Throws what it throws, and for an answer that is none. */
export function presentStage(machine: StateMachine): MachineStage | undefined {
  const stage: unknown = machine.stage()
  if (stage === undefined) return undefined
  // Nobody waits for it, and nobody may be surprised by its rejection.
  if (isPromiseLike(stage)) Promise.resolve(stage).catch(() => {})
  if (!isStage(stage)) throw new Error('its stage is not of the documented form')
  return stage
}

function isStage(stage: unknown): stage is MachineStage {
  if (typeof stage !== 'object' || stage === null) return false
  const { stageExecutionId, name, attempt, allowedTools } = stage as Partial<MachineStage>
  return typeof stageExecutionId === 'string' && typeof name === 'string' && Number.isSafeInteger(attempt) && Array.isArray(allowedTools)
}
