import type { ClientCapabilities, ElicitationSchema, PermissionOption, ToolCallUpdate } from '@agentclientprotocol/sdk'
import {
  BulkheadError, type ApprovalAnswer, type ApprovalRequest, type InteractionEnvelope, type InteractionRequest,
  type InteractionResponse, type Interactor,
} from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import { approvalMessage, questionForm, readReply } from '../questions/question-form.ts'
import { textContent } from './tool-call.ts'
import type { AcpClient, CallUpdates } from './updates.ts'

export interface InteractorParts {
  readonly client: AcpClient
  readonly sessionId: string
  readonly capabilities: ClientCapabilities
  readonly clientName: string
  readonly updates: Pick<CallUpdates, 'shown'>
}

type Question = Extract<InteractionRequest, { readonly kind: 'Approve' | 'grantStageTool' }>

/** Each kind of permission of the protocol, and our answer. Only the first two allow anything. */
const ANSWERS = {
  allow_once: 'once', allow_always: 'session', reject_once: 'reject', reject_always: 'reject',
} as const satisfies Record<PermissionOption['kind'], ApprovalAnswer['decision']>
type Permission = keyof typeof ANSWERS

/** A person who rejects more keys than this is asked again. */
const MOST_REJECTED = 1_000

/**
 * Asks the person at a client: for permission with `session/request_permission`, and other questions with
 * `elicitation/create` if the client has forms. Rejects with InteractionUnavailable if the client cannot ask.
 */
export function acpInteractor(parts: InteractorParts): Interactor {
  /** Answered with "always" no. Each names a tool, where it comes from, and a key. */
  const rejected = new Set<string>()

  async function permit(question: Question, signal: AbortSignal): Promise<InteractionResponse> {
    const { approval } = question
    const key = JSON.stringify([approval.tool, approval.origin, approval.approvalKey])
    if (rejected.has(key)) return answer(question, 'reject_always', parts.clientName)
    const { outcome } = await sent(parts.client.request('session/request_permission', {
      sessionId: parts.sessionId,
      toolCall: askedCall(question, parts),
      options: question.kind === 'Approve' ? optionsFor(approval) : optionsFor(approval).filter(isForOneCall),
    }, { cancellationSignal: signal, stopWaitingOnCancel: true }), question, signal)
    if (outcome.outcome !== 'selected') return { status: 'rejected', reason: 'the person cancelled the question' }
    const chosen = readOption(outcome.optionId)
    if (chosen === undefined) return { status: 'rejected', reason: 'the client sent an invalid answer' }
    if (chosen === 'reject_always' && rejected.size < MOST_REJECTED) rejected.add(key)
    return answer(question, chosen, parts.clientName)
  }

  async function elicit(envelope: InteractionEnvelope, signal: AbortSignal): Promise<InteractionResponse> {
    const { request, callId } = envelope
    const form = questionForm(envelope)
    if (form === undefined || !parts.capabilities.elicitation?.form) throw cannotAsk(request)
    const reply = await sent(parts.client.request('elicitation/create', {
      mode: 'form', sessionId: parts.sessionId, message: form.message,
      requestedSchema: form.requestedSchema as ElicitationSchema,
      ...(callId === undefined ? {} : { toolCallId: callId }),
    }, { cancellationSignal: signal, stopWaitingOnCancel: true }), request, signal)
    return readReply(form, reply)
  }

  return {
    interact: (envelope, signal) => {
      const { request } = envelope
      return request.kind === 'Approve' || request.kind === 'grantStageTool'
        ? permit(request, signal) : elicit(envelope, signal)
    },
  }
}

async function sent<Response>(
  response: Promise<Response>, request: InteractionRequest, signal: AbortSignal,
): Promise<Response> {
  try {
    return await response
  } catch (error) {
    signal.throwIfAborted()
    throw cannotAsk(request, `: ${visibleText(messageOf(error)).slice(0, MAX_FAULT_CHARS)}`)
  }
}

const MAX_FAULT_CHARS = 200

const cannotAsk = ({ kind }: InteractionRequest, why = ''): BulkheadError =>
  new BulkheadError('InteractionUnavailable', `This ACP client cannot answer a question of the kind ${kind}${why}.`)

/** The full question, and what the call would change. */
function askedCall({ approval, ...question }: Question, { updates }: InteractorParts): ToolCallUpdate {
  const { diff: _, ...rest } = approval
  const { callId, label } = rest
  const stage = question.kind === 'grantStageTool'
    ? `The stage ${visibleText(question.stage)} does not list this tool.\n` : ''
  const { title = visibleText(label), diffs = [] } = updates.shown(callId) ?? {}
  return {
    toolCallId: callId, title, status: 'pending',
    // The client shows its own diff, if there is one.
    content: [...diffs, textContent(`${stage}${approvalMessage(diffs.length > 0 ? rest : approval)}`)],
  }
}

function optionsFor({ tool, approvalKey }: ApprovalRequest): PermissionOption[] {
  const covered = `${tool} for "${visibleText(approvalKey)}" in this session`
  const option = (kind: Permission, name: string): PermissionOption => ({ optionId: kind, kind, name })
  return [
    option('allow_once', 'Allow this call'), option('allow_always', `Always allow ${covered}`),
    option('reject_once', 'Reject this call'), option('reject_always', `Always reject ${covered}`),
  ]
}

const isForOneCall = ({ kind }: PermissionOption): boolean => kind === 'allow_once' || kind === 'reject_once'

const readOption = (optionId: unknown): Permission | undefined =>
  typeof optionId === 'string' && Object.hasOwn(ANSWERS, optionId) ? optionId as Permission : undefined

function answer({ kind }: Question, chosen: Permission, client: string): InteractionResponse {
  const decision = ANSWERS[chosen]
  if (kind === 'grantStageTool') return { status: 'accepted', value: chosen === 'allow_once' }
  const by = `a person at ${visibleText(client)}`
  if (decision !== 'reject') return { status: 'accepted', value: { decision, by } }
  const reason = chosen === 'reject_always' ? 'the person always rejects this' : 'the person rejected the call'
  return { status: 'accepted', value: { decision, by, reason } }
}
