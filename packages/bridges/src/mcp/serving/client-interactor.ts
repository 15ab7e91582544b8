import {
  BulkheadError, type InteractionEnvelope, type InteractionRequest, type InteractionResponse, type Interactor,
} from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import type { Era } from './client-request.ts'
import type { OpenCall, OpenCalls } from './open-calls.ts'
import { questionForm, readReply, type QuestionForm } from '../../questions/question-form.ts'

/**
 * Asks the person at a client, if the client supports it. `era` is known after the first message. In the modern era a
 * client does not report an abandoned question, so questions do not wait for each other.
 */
export function clientInteractor(calls: OpenCalls, answerWithinMs: number, era: () => Era | undefined): Interactor {
  return {
    takesForms: true,
    get takesMany() {
      return era() === 'modern'
    },
    async interact(envelope, signal): Promise<InteractionResponse> {
      const call = calls.askedFor(envelope.callId)
      const form = questionForm(envelope)
      if (call && !call.request.canAsk) call.lacksForms = true
      if (!call?.request.canAsk || !form) throw cannotAsk(envelope.request)
      const reply = await elicit(call, form, envelope, signal, answerWithinMs)
      if (reply === undefined) return { status: 'timeout' }
      return signed(readReply(form, reply), envelope.request, call.request.client)
    },
  }
}

async function elicit(
  call: OpenCall, form: QuestionForm, { request, callId }: InteractionEnvelope, signal: AbortSignal, withinMs: number,
): Promise<unknown> {
  // A tool that calls the tool may have acted.
  const isBeforeRun = request.kind === 'Approve' && callId === call.id
  try {
    return await call.ask(form, signal, withinMs, isBeforeRun)
  } catch (error) {
    signal.throwIfAborted()
    throw cannotAsk(request, `: ${visibleText(messageOf(error)).slice(0, MAX_FAULT_CHARS)}`)
  }
}

const MAX_FAULT_CHARS = 200

/** Records where an approval was given. */
function signed(response: InteractionResponse, request: InteractionRequest, client: string): InteractionResponse {
  if (request.kind !== 'Approve' || response.status !== 'accepted') return response
  return { status: 'accepted', value: { ...response.value as object, by: `a person at ${client}` } }
}

function cannotAsk(request: InteractionRequest, why = ''): BulkheadError {
  const cannot = `this MCP client cannot ask a person${why}`
  const { tool } = 'approval' in request ? request.approval : {}
  return new BulkheadError(
    'InteractionUnavailable', tool === undefined ? `${cannot}.` : `${cannot}; ${howToAllow(tool)}`,
  )
}

const howToAllow = (tool: string): string =>
  `the operator can allow "${tool}" with a rule or the allowlist, or set approvals.project and approve it for the `
  + `project with "bulkhead call ${tool}" at a terminal`
