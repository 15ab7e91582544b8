import { isDeepStrictEqual } from 'node:util'
import type { ModelMessage } from 'ai'
import { CallApprovals } from '../models/call-approvals.ts'
import type { AskingSession, SessionCall } from '../models/session-tools.ts'

/** A call as the SDK executes it. */
export interface ExecutedCall {
  readonly toolCallId: string
  /** The name that the model used. */
  readonly toolName: string
  readonly input: unknown
  /** The messages that the SDK passes with the call. */
  readonly messages: readonly ModelMessage[]
}

/** The approver of a session whose person answers through the approval flow of the SDK. */
export class ToolApprovals extends CallApprovals {
  /** Ids of approvals. Each is valid for one call. */
  readonly #used = new Set<string>()

  /** The question, if the person has to be asked. The SDK wants to know it again when the person has answered. */
  async needed(session: AskingSession, call: SessionCall, executed: ExecutedCall) {
    return this.ask(session, call, approvalOf(executed) !== undefined)
  }

  /** Whether the person has approved this call. True once for each approval. */
  redeem(executed: ExecutedCall): boolean {
    const approvalId = approvalOf(executed)
    if (approvalId === undefined || this.#used.has(approvalId)) return false
    this.#used.add(approvalId)
    return true
  }
}

/**
 * The id of the approval of a call. The SDK executes an approved call with messages that end with the answer of the
 * person. The approved call must have the same tool and the same input.
 */
function approvalOf({ toolCallId, toolName, input, messages }: ExecutedCall): string | undefined {
  const last = messages.at(-1)
  if (last?.role !== 'tool') return undefined
  const parts = messages.flatMap(({ role, content }) => role === 'assistant' && typeof content !== 'string' ? content : [])
  const isCalled = parts.findLast((part) => part.type === 'tool-call' && part.toolCallId === toolCallId)
  if (isCalled?.type !== 'tool-call' || isCalled.toolName !== toolName) return undefined
  if (!isDeepStrictEqual(isCalled.input, input)) return undefined
  const requests = new Set(parts.flatMap((part) =>
    part.type === 'tool-approval-request' && part.toolCallId === toolCallId ? [part.approvalId] : []))
  const answer = last.content.find((part) => part.type === 'tool-approval-response' && requests.has(part.approvalId))
  return answer?.type === 'tool-approval-response' && answer.approved ? answer.approvalId : undefined
}
