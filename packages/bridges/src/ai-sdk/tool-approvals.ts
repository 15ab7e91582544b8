import { isDeepStrictEqual } from 'node:util'
import type { ApprovalAnswer, ApprovalRequest, Approver } from '@bulkhead/contract'
import type { ModelMessage } from 'ai'
import { hostCallId } from '../models/call-ids.ts'

/** A call as the SDK executes it. */
export interface ExecutedCall {
  readonly toolCallId: string
  /** The name that the model used. */
  readonly toolName: string
  readonly input: unknown
  /** The messages that the SDK passes with the call. */
  readonly messages: readonly ModelMessage[]
}

/**
 * The approver of a session whose person answers through the approval flow of the SDK. It approves a call that this
 * person has approved, once, and rejects every other: also calls that a tool makes.
 */
export class ToolApprovals implements Approver {
  /** Names of the tools of running calls with an approval, by the id that the host knows them by. */
  readonly #approved = new Map<string, string>()
  /** Ids of approvals. Each is valid for one call. */
  readonly #used = new Set<string>()

  async approve({ callId, tool, calledBy }: ApprovalRequest): Promise<ApprovalAnswer> {
    if (calledBy !== undefined) return { decision: 'reject', reason: 'calls of a tool cannot be approved here' }
    return this.#approved.get(callId) === tool ? { decision: 'once' } : { decision: 'reject', reason: 'it was not approved' }
  }

  /** Runs a call under an id that no other call has, so that it cannot use the approval of another. */
  async run<Result>(executed: ExecutedCall, tool: string, call: (id: string) => Promise<Result>): Promise<Result> {
    const id = hostCallId(executed.toolCallId)
    const approvalId = approvalOf(executed)
    if (approvalId !== undefined && !this.#used.has(approvalId)) {
      this.#used.add(approvalId)
      this.#approved.set(id, tool)
    }
    try {
      return await call(id)
    } finally {
      this.#approved.delete(id)
    }
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
