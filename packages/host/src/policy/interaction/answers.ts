import { APPROVAL_ANSWERS, BulkheadError, type ApprovalAnswer, type InteractionRequest, type InteractionResponse } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'

/** Checks the response of an interactor. Throws InteractionUnavailable if it does not fit the question. */
export function readResponse(request: InteractionRequest, response: unknown): InteractionResponse {
  const { status, value, reason } = isJsonObject(response) ? response : {}
  if (status === 'timeout') return { status }
  if (status === 'rejected') return { status, ...(typeof reason === 'string' ? { reason } : {}) }
  if (status !== 'accepted') throw malformed('in an unknown form')
  return { status, value: readValue(request, value) }
}

/** Throws InteractionUnavailable if the value does not answer the question. */
export function readValue(request: InteractionRequest, value: unknown): Json {
  switch (request.kind) {
    case 'Ask':
    case 'Auth.Password':
      if (typeof value === 'string') return value
      throw malformed('with something that is not a string')
    case 'Confirm':
    case 'grantStageTool':
      if (typeof value === 'boolean') return value
      throw malformed('with something other than true or false')
    case 'trustProject':
      if (typeof value === 'boolean' || value === 'once' || value === 'trusted' || value === 'declined') return value
      throw malformed('with something that is not a decision about trust')
    case 'Select':
      return readChoice(request, value)
    case 'Auth.DeviceCode':
      return null
    case 'Approve':
      return { ...readApproval(value) }
  }
}

function readChoice({ options, multiple = false }: Extract<InteractionRequest, { kind: 'Select' }>, value: unknown): Json {
  const labels = new Set(options.map(({ label }) => label))
  const isLabel = (each: unknown): each is string => typeof each === 'string' && labels.has(each)
  if (!multiple && isLabel(value)) return value
  if (multiple && Array.isArray(value) && value.every(isLabel)) return [...new Set(value)]
  throw malformed('with something that is not one of the options')
}

const MAX_NAME_CHARS = 200
const decisions: ReadonlySet<unknown> = new Set(APPROVAL_ANSWERS)

/** An unknown answer is a no. */
export function readApproval(value: unknown): ApprovalAnswer {
  const { decision = value, reason, by } = isJsonObject(value) ? value : {}
  if (!decisions.has(decision)) return { decision: 'reject', reason: 'the answer is unknown' }
  return {
    decision: decision as ApprovalAnswer['decision'],
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(typeof by === 'string' && by !== '' ? { by: by.slice(0, MAX_NAME_CHARS) } : {}),
  }
}

const malformed = (how: string) => new BulkheadError('InteractionUnavailable', `The question was answered ${how}.`)
