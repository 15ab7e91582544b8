import { isDeepStrictEqual } from 'node:util'
import type { ApprovalAnswer, ApprovalRequest, Approver, Outcome } from '@bulkhead/contract'
import { hostCallId } from './call-ids.ts'
import type { AgentSession, AskingSession, SessionCall, SessionCallOptions } from './session-tools.ts'

/** Questions that were never followed by a call are forgotten, the oldest first. */
const MAX_QUESTIONS = 1_000

interface Approved {
  readonly tool: string
  /** What the person saw. Absent if the question was asked by another process. */
  readonly question: ApprovalRequest | undefined
}

/**
 * The approver of a session whose person answers in an agent SDK, which asks before it runs a call. It approves a call
 * that this person has approved, once, and rejects every other: also calls that a tool makes. Contract: one for each
 * session.
 */
export class CallApprovals implements Approver {
  /** By the id that the model gave the call. */
  readonly #questions = new Map<string, ApprovalRequest>()
  /** Running calls with an approval, by the id that the host knows them by. */
  readonly #approved = new Map<string, Approved>()

  /** What the person has to decide: arguments, what the call would touch, the diff of the files that it would write. */
  question(callId: string): ApprovalRequest | undefined {
    return this.#questions.get(callId)
  }

  /**
   * The question, if the SDK has to ask its person about a call; true if the session does not say more. `isAnswered`:
   * the person has seen an earlier one.
   */
  async ask(
    session: AskingSession, call: SessionCall, isAnswered = false,
  ): Promise<ApprovalRequest | true | undefined> {
    const { decision, question } = await session.explain(call)
    if (!isAnswered) this.#questions.delete(call.id)
    if (decision !== 'ask') return undefined
    if (question === undefined) return true
    if (!isAnswered) this.#remember(call.id, question)
    return question
  }

  #remember(callId: string, question: ApprovalRequest): void {
    this.#questions.set(callId, question)
    if (this.#questions.size > MAX_QUESTIONS) this.#questions.delete(this.#questions.keys().next().value!)
  }

  async approve(request: ApprovalRequest): Promise<ApprovalAnswer> {
    const { callId, tool, calledBy } = request
    if (calledBy !== undefined) return { decision: 'reject', reason: 'calls of a tool cannot be approved here' }
    const approved = this.#approved.get(callId)
    if (approved?.tool !== tool) return { decision: 'reject', reason: 'it was not approved' }
    const isAsShown = approved.question === undefined || isSame(approved.question, request)
    if (isAsShown) return { decision: 'once' }
    return { decision: 'reject', reason: 'what it would do has changed since the question was asked' }
  }

  /** Runs a call under an id that no other call has, so that it cannot use the approval of another. */
  async carryOut<Result>(
    call: SessionCall, isApproved: boolean, run: (call: SessionCall) => Promise<Result>,
  ): Promise<Result> {
    const id = hostCallId(call.id)
    if (isApproved) this.#approved.set(id, { tool: call.name, question: this.#questions.get(call.id) })
    this.#questions.delete(call.id)
    try {
      return await run({ ...call, id })
    } finally {
      this.#approved.delete(id)
    }
  }
}

/** Runs a call of a model. `isApproved`: the person of the SDK has approved it. */
export function runCall(
  session: AgentSession, call: SessionCall, options: SessionCallOptions, approvals?: CallApprovals, isApproved = false,
): Promise<Outcome> {
  const start = (known: SessionCall) => session.call(known, options)
  return approvals ? approvals.carryOut(call, isApproved, start) : start({ ...call, id: hostCallId(call.id) })
}

const isSame = (shown: ApprovalRequest, now: ApprovalRequest): boolean =>
  isDeepStrictEqual(effectOf(shown), effectOf(now))

const effectOf = ({ tool, origin, argumentsText, touches, mayTouch, diff }: ApprovalRequest) =>
  ({ tool, origin, argumentsText, touches, mayTouch, diff })
