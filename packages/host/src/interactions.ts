import {
  APPROVAL_ANSWERS, BulkheadError, isJsonObject, messageOf, type ApprovalAnswer, type ApprovalRequest, type Approver, type Clock,
  type InteractionRequest, type InteractionResponse, type Interactor, type Json,
} from '@bulkhead/contract'
import type { EventBus } from './events.ts'
import { Turnstile } from './turnstile.ts'

export interface InteractionSources {
  readonly sessionId: string
  readonly interactor: Interactor | undefined
  readonly approver: Approver | undefined
  readonly events: EventBus
  readonly clock: Clock
}

/** Everything one session asks people, one question at a time, first come first served. */
export class Interactions {
  readonly #sources: InteractionSources
  readonly #turnstile = new Turnstile()
  #count = 0

  constructor(sources: InteractionSources) {
    this.#sources = sources
  }

  get canApprove(): boolean {
    return this.#sources.approver !== undefined || this.#sources.interactor !== undefined
  }

  /** Rejects with InteractionUnavailable when nobody is there or the one who is there fails. */
  ask(request: InteractionRequest, source: string, signal: AbortSignal): Promise<InteractionResponse> {
    const { interactor } = this.#sources
    if (!interactor) return Promise.reject(unavailable('Nobody is there to be asked in this session.'))
    return this.#turnstile.pass(signal, () => this.#raise(interactor, request, source, signal))
  }

  /**
   * The word of whoever decides. `settled` is asked when its turn has come: an answer to the question before may have
   * settled this one too, and then nobody is asked. A decider that fails has not said yes.
   */
  approve(approval: ApprovalRequest, signal: AbortSignal, settled: () => ApprovalAnswer | undefined): Promise<ApprovalAnswer> {
    const { approver, interactor } = this.#sources
    return this.#turnstile.pass(signal, async () => {
      const answered = settled()
      if (answered) return answered
      if (approver) return this.#approveBy(approver, approval, signal)
      if (!interactor) return { decision: 'reject', reason: 'nobody is there to be asked' }
      const response = await this.#raise(interactor, { kind: 'Approve', approval }, 'host', signal).catch(failed)
      if (response.status === 'accepted') return readAnswer(response.value)
      if (response.status === 'timeout') return { decision: 'reject', reason: 'nobody answered in time' }
      return { decision: 'reject', reason: response.reason ?? 'a person said no' }
    })
  }

  #raise(interactor: Interactor, request: InteractionRequest, source: string, signal: AbortSignal): Promise<InteractionResponse> {
    return this.#observed(request.kind, source, async (correlationId) => {
      const issuedAt = new Date(this.#sources.clock.now()).toISOString()
      return readResponse(await interactor.interact({ correlationId, issuedAt, request, source }, signal))
    }, ({ status }) => status)
  }

  #approveBy(approver: Approver, approval: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    const asked = this.#observed(
      'Approve', 'host',
      async () => readAnswer(await approver.approve(approval, signal)),
      ({ decision }) => decision === 'reject' ? 'rejected' : 'accepted',
    )
    return asked.catch(failed)
  }

  async #observed<Answer>(
    kind: string,
    source: string,
    ask: (correlationId: string) => Promise<Answer>,
    status: (answer: Answer) => InteractionResponse['status'],
  ): Promise<Answer> {
    const { events, sessionId } = this.#sources
    const correlationId = `${sessionId}:${++this.#count}`
    events.emit({ type: 'InteractionRaised', correlationId, kind, source })
    try {
      const answer = await ask(correlationId)
      events.emit({ type: 'InteractionAnswered', correlationId, status: status(answer) })
      return answer
    } catch (thrown) {
      events.emit({ type: 'InteractionAnswered', correlationId, status: 'rejected' })
      throw BulkheadError.is(thrown) ? thrown : unavailable(`The question could not be asked: ${messageOf(thrown)}.`, thrown)
    }
  }
}

const failed = (thrown: unknown) => ({ decision: 'reject', status: 'rejected', reason: messageOf(thrown) }) as const

const statuses: ReadonlySet<unknown> = new Set<InteractionResponse['status']>(['accepted', 'rejected', 'timeout'])

function readResponse(response: InteractionResponse): InteractionResponse {
  if (isJsonObject(response) && statuses.has(response['status'])) return response
  throw unavailable('The interactor answered in a form that is not one of the known ones.')
}

const unavailable = (message: string, cause?: unknown) => new BulkheadError('InteractionUnavailable', message, { cause })

const decisions: ReadonlySet<unknown> = new Set(APPROVAL_ANSWERS)

/** Anything but one of the known answers is a no. */
function readAnswer(value: Json | ApprovalAnswer): ApprovalAnswer {
  const decision: unknown = isJsonObject(value) ? value['decision'] : value
  if (!decisions.has(decision)) return { decision: 'reject', reason: 'the answer was not one of the known ones' }
  const reason: unknown = isJsonObject(value) ? value['reason'] : undefined
  return { decision: decision as ApprovalAnswer['decision'], ...(typeof reason === 'string' ? { reason } : {}) }
}
