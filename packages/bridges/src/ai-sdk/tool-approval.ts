import type { ToolDefinition } from '@bulkhead/contract'
import type { ToolApprovalStatus } from 'ai'
import { sessionTools } from '../models/session-tools.ts'
import { questionText } from '../questions/question-form.ts'
import { ToolApprovals, type ExecutedCall } from './tool-approvals.ts'
import { PROFILE, type ToolSetSession } from './tool-set.ts'

/** The approval of one tool, as `toolApproval` takes it. */
type ToolApproval = (
  input: unknown, options: Pick<ExecutedCall, 'toolCallId' | 'messages'>,
) => Promise<ToolApprovalStatus>

/**
 * The `toolApproval` of a tool set, instead of `needsApproval` of its tools: the SDK then also gets the question, with
 * what the call would touch and the diff, as the reason. Pass the same tools and approvals as to `toToolSet`. Approvals
 * of other tools stay as they are.
 */
export function toToolApproval(
  session: ToolSetSession, tools: readonly ToolDefinition[] = session.tools(), approvals = new ToolApprovals(),
): Record<string, ToolApproval> {
  return Object.fromEntries(sessionTools(session, { tools }, PROFILE).map(({ name, callOf }) => {
    const approval: ToolApproval = async (input, { toolCallId, messages }) => {
      const executed = { toolCallId, toolName: name, input, messages }
      const asked = await approvals.needed(session, callOf(input, toolCallId), executed)
      if (asked === undefined) return 'not-applicable'
      return asked === true ? 'user-approval' : { type: 'user-approval', reason: questionText(asked) }
    }
    return [name, approval]
  }))
}
