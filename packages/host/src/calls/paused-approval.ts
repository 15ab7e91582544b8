import { BulkheadError, type ApprovalAnswer, type ApprovalRequest } from '@bulkhead/contract'
import { canonicalJson, parseJson, type Json } from '@bulkhead/kit/json'
import type { ValidatedCall } from '../policy/call.ts'
import { readApproval } from '../policy/interaction/interactors.ts'
import { identityOf } from '../policy/interaction/paused-calls.ts'
import { approvalsIn } from '../policy/interaction/question-log.ts'
import { memoryOf } from '../policy/session-memory.ts'

/**
 * The answer that the call got while it was paused. undefined if there is none, or if anything is different from what
 * the person saw: then a person is asked again.
 */
export async function answerWhilePaused(
  call: ValidatedCall, request: () => Promise<ApprovalRequest>,
): Promise<ApprovalAnswer | undefined> {
  const { resumption } = call.scope
  if (resumption === undefined || resumption.identity !== identityOf(call)) return undefined
  const asked = approvalsIn(resumption.asked)
  if (asked.length === 0) return undefined
  const shown = shownIn(await request())
  const same = asked.findLast(({ question }) => question.kind === 'Approve' && shownIn(question.approval) === shown)
  return same?.answer === undefined ? undefined : readApproval(same.answer)
}

/** What the person decides on: not who is asked, in which session, and why. */
function shownIn({ tool, origin, approvalKey, argumentsText, calledBy, diff, touches, mayTouch }: ApprovalRequest): string {
  return canonicalJson([
    tool, origin, approvalKey, sorted(argumentsText), calledBy ?? null, diff ?? null, touches, mayTouch,
  ] as unknown as Json)
}

/** The store sorts the members of the arguments. */
function sorted(argumentsText: string): string {
  const parsed = parseJson(argumentsText)
  return parsed.ok ? canonicalJson(parsed.value) : argumentsText
}

/** Stores the question, and throws the error that ends the call until it is answered. Nothing if calls do not pause. */
export async function pauseForApproval(call: ValidatedCall, request: () => Promise<ApprovalRequest>): Promise<void> {
  const { session: { paused }, scope: { resumption } } = call
  // The caller of a call that a tool makes would be gone.
  if (!paused || call.parent) return
  const question = { kind: 'Approve', approval: await request() } as const
  const before = (resumption?.asked ?? []).filter((asked) => asked.question.kind !== 'Approve')
  const id = await paused.keep(call, question, before, memoryOf(call.session, call.tool.extension.descriptor))
  throw new BulkheadError(
    'ClarificationNeeded', `The call of "${call.tool.name}" waits for approval.`,
    { data: { paused: id, question } as never },
  )
}
