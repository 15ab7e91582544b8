import type { ApprovalRequest, InteractionRequest, StateMachine } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import type { CheckedCall } from './checked-call.ts'
import { allow, ask, deny, type Verdict } from './verdict.ts'
import { presentStage, StagePermit } from './stage-permit.ts'

/** The verdict of a state machine, or undefined if it is in no stage. Fails closed. */
export function evaluateStage(machine: StateMachine, call: CheckedCall): Verdict | undefined {
  try {
    const stage = presentStage(machine)
    if (stage === undefined) return undefined
    const permit = new StagePermit(machine, stage, call)
    const named = `the stage "${stage.name}" of the state machine ${machine.id}`
    if (stage.allowedTools.includes(call.tool.name)) {
      return { ...allow('state-machine', 'sm-envelope', `${named} lists it`), permit }
    }
    return { ...ask('state-machine', `state machine ${machine.id}`, `${named} does not list it`, false), permit }
  } catch (thrown) {
    const reason = `the state machine ${machine.id} failed: ${messageOf(thrown)}`
    return deny('state-machine', 'ApprovalDenied', `state machine ${machine.id}`, reason)
  }
}

export const permitsIn = (verdicts: readonly Verdict[]): readonly StagePermit[] => verdicts.flatMap(({ permit }) => permit ?? [])

/** The question to a person. It binds the permits to the arguments that the person sees. */
export function stageGrant(
  call: CheckedCall, permits: readonly StagePermit[], approval: ApprovalRequest,
): Extract<InteractionRequest, { kind: 'grantStageTool' }> {
  const [argsDigest = ''] = permits.map((permit) => permit.bindTo(call))
  const stage = visibleText([...new Set(permits.map((permit) => permit.stage))].join(', '))
  return { kind: 'grantStageTool', tool: call.tool.name, stage, argsDigest, approval }
}
