import type { ChangeSource } from '@bulkhead/contract'
import type { Call, ExecutedCall, HostContext } from '../policy/call.ts'
import { recordEffect as record } from '../records/effects.ts'

export const changeSource = (call: Call, workspace: string): ChangeSource => ({
  workspace, sessionId: call.session.id, turn: call.scope.turnNumber, callId: call.id,
  rootCallId: call.parent?.rootCallId ?? call.id, tool: call.name,
  ...(call.session.delegatedBy.length > 0 && { delegatedBy: call.session.delegatedBy }),
})

/** Whether the tool of a call can revert it, and there is something to revert. */
export const isRevertible = ({ call: { tool, scope }, reading: { body } }: ExecutedCall): boolean =>
  scope.reverts === undefined && body.type === 'output' && tool.definition.effects !== 'none'
  && tool.extension.compartment?.offers.reverts?.has(tool.name) === true

/** Records the arguments and the result of a call for `revert` of its tool. Never rejects: the call has happened. */
export async function recordEffect(
  { call, reading }: ExecutedCall, { changes, workspace, events }: HostContext,
): Promise<void> {
  const { args } = call
  const { body } = reading
  if (changes === undefined || body.type !== 'output') return
  try {
    await record(changes, changeSource(call, workspace), { args, result: body.data })
  } catch (thrown) {
    events.suppressed('recording a call for undo', thrown)
  }
}
