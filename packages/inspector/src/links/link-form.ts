import { readAnswerLimit, type ApprovalRequest, type InteractionRequest, type InteractionResponse } from '@bulkhead/contract'
import { isJsonObject, parseJson, type JsonObject } from '@bulkhead/kit/json'

/** An answer that cannot be read. The message is for the person. */
export class FormFault extends Error {}

export const answerName = ({ decision, covers }: ApprovalRequest['answers'][number]): string => `${decision}:${covers}`

/** The answer in a form of the page. Throws FormFault: what cannot be read must not count without it. */
export function readForm(request: InteractionRequest, form: URLSearchParams): InteractionResponse {
  const text = (name: string): string => form.get(name)?.trim() ?? ''
  const reason = text('reason') === '' ? {} : { reason: text('reason').slice(0, MOST_REASON_CHARS) }
  if (text('answer') === 'reject') {
    return request.kind === 'Approve'
      ? { status: 'accepted', value: { decision: 'reject', ...reason } } : { status: 'rejected', ...reason }
  }
  switch (request.kind) {
    case 'Approve': return { status: 'accepted', value: allowing(request.approval, text) }
    case 'grantStageTool':
    case 'Confirm':
      if (text('answer') !== 'yes' && text('answer') !== 'no') throw new FormFault('Choose an answer.')
      return { status: 'accepted', value: text('answer') === 'yes' }
    case 'Ask': return { status: 'accepted', value: form.get('text') ?? '' }
    case 'Select': {
      const chosen = form.getAll('option').map((index) => request.options[Number(index)]?.label)
      const labels = chosen.filter((label) => label !== undefined)
      if (labels.length !== chosen.length || (!request.multiple && labels.length !== 1)) throw new FormFault('Choose an option.')
      return { status: 'accepted', value: request.multiple ? labels : labels[0]! }
    }
    case 'Form': {
      const parsed = parseJson(form.get('text') ?? '')
      if (!parsed.ok) throw new FormFault('Type the fields as a JSON object.')
      return { status: 'accepted', value: parsed.value }
    }
    case 'Auth.DeviceCode':
    case 'Auth.Password':
    case 'trustProject': throw new FormFault('This question is answered where it is asked.')
  }
}

const MOST_REASON_CHARS = 2_000

function allowing({ answers }: ApprovalRequest, text: (name: string) => string): JsonObject {
  const offered = answers.find((one) => answerName(one) === text('answer'))
  if (!offered) throw new FormFault('Choose one of the answers.')
  const { decision, covers, narrower = [] } = offered
  const [limit, key, edited] = [text('limit'), text('key'), text('arguments')]
  if (decision === 'once') {
    if (limit !== '' || key !== '') throw new FormFault('This call alone takes no limit and no key.')
    return { decision, covers, ...(edited !== '' && { arguments: objectIn(edited) }) }
  }
  if (edited !== '') throw new FormFault('Other arguments are for this call alone.')
  const read = limit === '' ? {} : readAnswerLimit(limit, Date.now())
  if (!read) throw new FormFault('The limit cannot be read. A time is within 12 hours.')
  if (key !== '' && !narrower.includes(key)) throw new FormFault('The key is not one of the narrower ones.')
  return { decision, covers, ...read, ...(key !== '' && { key }) }
}

function objectIn(text: string): JsonObject {
  const parsed = parseJson(text)
  if (parsed.ok && isJsonObject(parsed.value)) return parsed.value
  throw new FormFault('Type the arguments as a JSON object.')
}
