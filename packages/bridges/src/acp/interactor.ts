import type { ClientCapabilities, ElicitationSchema, PermissionOption, ToolCallUpdate } from '@agentclientprotocol/sdk'
import {
  BulkheadError, type ApprovalRequest, type InteractionEnvelope, type InteractionRequest, type InteractionResponse,
  type Interactor, type OfferedAnswer,
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

const ALWAYS_NO = 'reject_always'
const NOT_NOW = 'later'

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
    if (rejected.has(key)) return responseTo(question, { optionId: ALWAYS_NO }, parts.clientName)
    const options = optionsFor(approval)
    const { outcome } = await sent(parts.client.request('session/request_permission', {
      sessionId: parts.sessionId,
      toolCall: askedCall(question, parts),
      options: options.filter((option) => question.kind === 'Approve' || isForOneCall(option))
        .map(({ offered: _offered, ...option }) => option),
    }, { cancellationSignal: signal, stopWaitingOnCancel: true }), question, signal)
    if (outcome.outcome !== 'selected') return { status: 'rejected', reason: 'the person cancelled the question' }
    const chosen = options.find(({ optionId }) => optionId === outcome.optionId)
    if (chosen === undefined) return { status: 'rejected', reason: 'the client sent an invalid answer' }
    if (chosen.optionId === ALWAYS_NO && rejected.size < MOST_REJECTED) rejected.add(key)
    return responseTo(question, chosen, parts.clientName)
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

/** An option, and the answer that it stands for. None for a rejection. */
interface Option extends PermissionOption {
  readonly offered?: OfferedAnswer
}

/** The answers as options, the one that covers the least first. A client has no passkey: none allows the call then. */
function optionsFor({ tool, approvalKey, answers, passkey }: ApprovalRequest): readonly Option[] {
  const allowed = passkey ? [] : answers.map((offered): Option => offered.decision === 'once'
    ? { optionId: 'allow_once', kind: 'allow_once', name: 'Allow this call', offered }
    : { optionId: idOf(offered), kind: 'allow_always', name: `Always allow ${offered.words}`, offered })
  return [
    ...allowed,
    { optionId: 'reject_once', kind: 'reject_once', name: 'Reject this call' },
    { optionId: NOT_NOW, kind: 'reject_once', name: 'Not now' },
    {
      optionId: ALWAYS_NO, kind: ALWAYS_NO,
      name: `Always reject ${tool} for "${visibleText(approvalKey)}" in this session`,
    },
  ]
}

/** The least for the session is what the protocol calls "always". */
const idOf = ({ decision, covers }: OfferedAnswer): string =>
  decision === 'session' && covers === 'key' ? 'allow_always' : `allow_always:${decision}:${covers}`

const isForOneCall = ({ kind, optionId }: PermissionOption): boolean =>
  kind === 'allow_once' || (kind === 'reject_once' && optionId !== NOT_NOW)

function responseTo(
  { kind }: Question, { optionId, offered }: Pick<Option, 'optionId' | 'offered'>, client: string,
): InteractionResponse {
  if (kind === 'grantStageTool') return { status: 'accepted', value: offered?.decision === 'once' }
  const by = `a person at ${visibleText(client)}`
  if (optionId === NOT_NOW) return { status: 'accepted', value: { decision: 'later', by } }
  if (offered) return { status: 'accepted', value: { decision: offered.decision, covers: offered.covers, by } }
  const reason = optionId === ALWAYS_NO ? 'the person always rejects this' : 'the person rejected the call'
  return { status: 'accepted', value: { decision: 'reject', by, reason } }
}
