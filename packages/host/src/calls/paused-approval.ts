import { BulkheadError, type ApprovalRequest, type InteractionRequest } from '@bulkhead/contract'
import { canonicalJson, parseJson, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { HostContext, ValidatedCall } from '../policy/call.ts'
import type { PersonAnswer } from '../policy/interaction/interactions.ts'
import { readApproval } from '../policy/interaction/interactors.ts'
import type { AskedCall } from '../policy/interaction/asked-call.ts'
import { provenResponse } from '../policy/interaction/passkeys.ts'
import { answersIn, approvalsIn } from '../policy/interaction/question-log.ts'
import { memoryOf } from '../policy/session-memory.ts'

/** Whether a whole call may run. Its answer can come later, because the call is stored with it. */
export type CallQuestion = Extract<InteractionRequest, { kind: 'Approve' | 'grantStageTool' }>

/** Of a call that may pause: its session wants that, and no other call waits for it. */
const mayPause = ({ session: { paused }, parent, scope: { reverts } }: ValidatedCall): boolean =>
  paused !== undefined && parent === undefined && reverts === undefined

/** Stores a call that no one approved, and ends it until someone does. Does nothing if it may not pause. */
export async function pauseForApproval(
  call: ValidatedCall, questionOf: () => Promise<CallQuestion>, asked: AskedCall | undefined,
): Promise<void> {
  if (!mayPause(call)) return
  const question = await questionOf()
  const memory = memoryOf(call.session, call.tool.extension.descriptor)
  const pause = (as?: string) => call.session.paused!.keep(call, question, answersIn(call), memory, { id: as })
  const id = await (asked?.handOver(pause) ?? pause())
  const { tool, approvalKey } = question.approval
  const message = `The call of "${tool}" waits for approval of ${approvalKey}.`
  throw new BulkheadError('ClarificationNeeded', message, { data: { paused: id, question: { ...question } } as never })
}

/** The same question, which is stored while it is asked. */
export const storedWhileAsked = <Question extends CallQuestion>(
  call: ValidatedCall, questionOf: () => Promise<Question>, asked: AskedCall | undefined,
) => async (): Promise<Question> => {
  const question = await questionOf()
  asked?.begin(question, answersIn(call), memoryOf(call.session, call.tool.extension.descriptor))
  return question
}

/** A person said "not now", and the call cannot wait. It is no denial. */
export function undecided({ tool: { name } }: ValidatedCall, reason: string | undefined): BulkheadError {
  const why = reason === undefined ? '' : ` (${visibleText(reason)})`
  const message = `The call of "${name}" did not run and was not denied: a person said "not now"${why}. `
    + 'Make the call again when the person is ready.'
  return new BulkheadError('ClarificationNeeded', message, { data: { reason: 'not-now' } })
}

/**
 * The answer that a call got while it was paused, if a person would now be asked the same: a file that the question
 * showed may have changed meanwhile.
 */
export async function answerWhilePaused(
  call: ValidatedCall, questionOf: () => Promise<CallQuestion>, { passkeys, clock, events }: HostContext,
): Promise<PersonAnswer | undefined> {
  const given = approvalsIn(call)
  if (given.length === 0) return undefined
  const now = comparable(await questionOf())
  const found = given.findLast(({ question }) => comparable(question as CallQuestion) === now)
  if (found?.answer === undefined) return undefined
  const { question, answer, passkey } = found
  try {
    const response = { status: 'accepted', value: answer, ...(passkey && { passkey }) } as const
    const { proof } = provenResponse(question, response, { ring: passkeys, now: clock.now() })
    const proven = proof && { proof }
    if (typeof answer !== 'boolean') return { ...readApproval(answer), ...proven }
    return answer ? { decision: 'once', ...proven } : { decision: 'reject', reason: 'a person said no' }
  } catch (thrown) {
    // Nothing that the store has replaces a passkey: the person is asked again.
    events.suppressed('an answer in the store', thrown)
    return undefined
  }
}

/** Another session may continue the call. Its words about folders count files. */
const comparable = ({ approval, ...question }: CallQuestion): string => canonicalJson({
  ...question, approval: { ...approval, ...NOT_COMPARED, argumentsText: sorted(approval.argumentsText) },
} as unknown as Json)
const NOT_COMPARED = { sessionId: '', principal: null, answers: [], passkey: null } as const satisfies
  { readonly [Member in keyof ApprovalRequest]?: unknown }

/** The store sorts the members of the arguments. */
function sorted(argumentsText: string): string {
  const parsed = parseJson(argumentsText)
  return parsed.ok ? canonicalJson(parsed.value) : argumentsText
}
