import { readAssertion, type OfferedAnswer } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { optionalNumber, optionalObject, optionalText, text } from '../access/body.ts'
import { RequestFault } from '../fault.ts'
import type { OpenQuestion, QuestionAnswer } from '../inspected.ts'
import { answerId, approvalIn } from './waiting-item.ts'

/** What a decision means for the host. `minutes`: not now. */
export type ReadDecision =
  | { readonly is: 'answer'; readonly answer: QuestionAnswer }
  | { readonly is: 'later'; readonly minutes: number }

const LATER_MINUTES = 10
const MOST_LATER_MINUTES = 24 * 60

/** Throws InputInvalid. `by`: who answers, for the list of approvals. */
export function readDecision(body: JsonObject, question: OpenQuestion, by: string, now: number): ReadDecision {
  const kind = text(body, 'do')
  switch (kind) {
    case 'later': return { is: 'later', minutes: readMinutes(optionalNumber(body, 'minutes')) }
    case 'reject': {
      const reason = optionalText(body, 'reason')
      return {
        is: 'answer',
        answer: question.request && approvalIn(question.request)
          ? approved(question, { decision: 'reject', by, ...(reason !== undefined && { reason }) })
          : { status: 'rejected', ...(reason !== undefined && { reason }) },
      }
    }
    case 'allow': return { is: 'answer', answer: approved(question, readAllow(body, question, by, now)) }
    case 'answer': {
      const { value } = body
      if (value === undefined) throw invalid('"value" is missing.', '/value')
      const answer = value === null ? { status: 'rejected' as const } : { status: 'accepted' as const, value }
      return { is: 'answer', answer }
    }
    default: throw invalid('"do" must be allow, reject, later or answer.', '/do')
  }
}

/** With the passkey of a decision. */
export function withPasskey(answer: QuestionAnswer, body: JsonObject): QuestionAnswer {
  const { passkey: given } = body
  if (given === undefined || answer.status !== 'accepted') return answer
  const passkey = readAssertion(given)
  if (passkey) return { ...answer, passkey }
  throw invalid('"passkey" must be what `toJSON()` of the credential returns.', '/passkey')
}

/** A question for one call of a stage takes yes or no. */
function approved({ request }: OpenQuestion, answer: JsonObject): QuestionAnswer {
  if (request?.kind !== 'grantStageTool') return { status: 'accepted', value: answer }
  return answer['decision'] === 'reject' ? { status: 'rejected' } : { status: 'accepted', value: true }
}

function readAllow(body: JsonObject, question: OpenQuestion, by: string, now: number): JsonObject {
  const approval = question.request && approvalIn(question.request)
  if (!approval) throw invalid('Only a call can be allowed. Send "answer" instead.', '/do')
  const id = text(body, 'answer')
  const offer = approval.answers.find((one) => answerId(one) === id)
  if (!offer) throw invalid('"answer" must be the id of an offered answer.', '/answer')
  const edited = optionalObject(body, 'arguments')
  const limits = { until: optionalNumber(body, 'until'), times: optionalNumber(body, 'times') }
  if (offer.decision === 'once') {
    if (limits.until !== undefined || limits.times !== undefined) {
      throw invalid('Only an answer that lasts can have a limit.', '/until')
    }
    if (edited !== undefined && question.arguments === undefined) {
      throw invalid('The arguments of this call cannot be edited.', '/arguments')
    }
    return { decision: 'once', by, ...(edited !== undefined && { arguments: edited }) }
  }
  if (edited !== undefined) throw invalid('Edited arguments can be allowed once only.', '/arguments')
  return { decision: offer.decision, covers: offer.covers, by, ...readKey(body, offer), ...readLimits(limits, question, now) }
}

function readLimits(
  { until, times }: { readonly until: number | undefined; readonly times: number | undefined },
  { limits }: OpenQuestion, now: number,
): JsonObject {
  if (until === undefined && times === undefined) return {}
  // A limit that the host does not know would be lost, and the answer would last.
  if (!limits) throw new RequestFault('NotSupported', 'This question takes no limit.')
  if (until !== undefined && until <= now) throw invalid('"until" is over.', '/until')
  if (times !== undefined && (!Number.isSafeInteger(times) || times < 1)) {
    throw invalid('"times" must be a whole number from 1.', '/times')
  }
  return {
    ...(until !== undefined && { until: new Date(until).toISOString() }), ...(times !== undefined && { uses: times }),
  }
}

/** Another key than the offered one must be narrower. */
function readKey(body: JsonObject, { keys = [], narrower = [] }: OfferedAnswer): JsonObject {
  const rule = optionalObject(body, 'rule')
  if (rule === undefined) return {}
  const pattern: Json | undefined = isJsonObject(rule) ? rule['pattern'] : undefined
  if (typeof pattern !== 'string') {
    throw invalid('"rule" must have a permission, a pattern and an action.', '/rule')
  }
  if (rule['action'] !== undefined && rule['action'] !== 'allow') throw invalid('An approval can only allow.', '/rule/action')
  if (keys.includes(pattern)) return {}
  if (narrower.includes(pattern)) return { key: pattern }
  const others = narrower.length === 0 ? '' : `: ${narrower.join(', ')}`
  const message = `The rule can be narrowed to one of those that were offered${others}. Write others into a configuration.`
  throw invalid(message, '/rule/pattern')
}

const readMinutes = (minutes = LATER_MINUTES): number => {
  if (minutes > 0 && minutes <= MOST_LATER_MINUTES) return minutes
  throw invalid(`"minutes" must be more than 0 and at most ${MOST_LATER_MINUTES}.`, '/minutes')
}

const invalid = (message: string, path: string): RequestFault => new RequestFault('InputInvalid', message, path)
