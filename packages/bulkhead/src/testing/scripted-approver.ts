import {
  APPROVAL_ANSWERS, APPROVAL_COVERS, requireOptions, type ApprovalAnswer, type ApprovalRequest, type Approver,
} from '@bulkhead/contract'
import { forms, type OptionForm } from '@bulkhead/kit/options'
import { visibleText } from '@bulkhead/kit/text'

type Answer = ApprovalAnswer | ApprovalAnswer['decision']

/** An answer, such as `once` or `reject`, or a function that gives one. */
export type ScriptedAnswer = Answer | ((request: ApprovalRequest) => Answer | Promise<Answer>)

/** Answers approval requests from a list, in order. Rejects a request for which no answer is left. */
export interface ScriptedApprover extends Approver {
  /** All requests so far. */
  readonly requests: readonly ApprovalRequest[]
  /** Throws if a request was unexpected, if an answer failed, or if answers are left. */
  check(): void
}

const DECISION = forms.oneOf(...APPROVAL_ANSWERS)
const FIELDS = forms.fields({
  decision: DECISION, covers: forms.oneOf(...APPROVAL_COVERS), reason: forms.text, by: forms.text,
})
const ANSWER: OptionForm = {
  words: `${DECISION.words}, or an object with this as decision`,
  wrongIn: (answer) => DECISION.wrongIn(answer) && (forms.whole({ decision: DECISION }).wrongIn(answer) ?? FIELDS.wrongIn(answer)),
}
const SCRIPT = { answers: forms.list(forms.either(ANSWER, forms.method)) }

/** Throws ConfigInvalid for an answer that does not exist. */
export function createScriptedApprover(answers: readonly ScriptedAnswer[]): ScriptedApprover {
  requireOptions('createScriptedApprover', { answers }, SCRIPT, 'answers')
  const left = [...answers]
  const requests: ApprovalRequest[] = []
  const faults: Error[] = []
  const fail = (fault: unknown): never => {
    faults.push(fault instanceof Error ? fault : new Error(String(fault)))
    throw fault
  }
  return {
    requests,
    async approve(request) {
      requests.push(request)
      const answer = left.shift()
      if (answer === undefined) return fail(unexpected(request, answers.length))
      try {
        const given = typeof answer === 'function' ? await answer(request) : answer
        requireOptions('the scripted approver', { answer: given }, { answer: ANSWER }, 'answer')
        return typeof given === 'string' ? { decision: given } : given
      } catch (thrown) {
        return fail(thrown)
      }
    },
    check() {
      const [fault] = faults
      if (fault) throw fault
      if (left.length === 0) return
      throw new Error(`${left.length} of ${answers.length} answers were not used: ${left.map(nameOf).join(', ')}.`)
    },
  }
}

const unexpected = ({ tool, approvalKey }: ApprovalRequest, scripted: number): Error => new Error(
  `Unexpected approval request for the tool "${tool}" with the key "${visibleText(approvalKey)}": ${
    scripted === 0 ? 'the script has no answers' : `all ${scripted} answers are used`}. Add an answer for it.`,
)

const nameOf = (answer: ScriptedAnswer): string =>
  typeof answer === 'function' ? 'a function' : typeof answer === 'string' ? `"${answer}"` : JSON.stringify(answer)
