import type {
  ApprovalAnswer, ApprovalRequest, Approver, InteractionEnvelope, InteractionResponse, Interactor,
} from '@bulkhead/contract'

/** An approver that answers when the test says so. */
export class ScriptedApprover implements Approver {
  readonly asked: ApprovalRequest[] = []
  readonly #open: ((answer: ApprovalAnswer) => void)[] = []
  readonly #standing: ApprovalAnswer | undefined

  /** With a standing answer every question is answered at once. */
  constructor(standing?: ApprovalAnswer['decision']) {
    this.#standing = standing && { decision: standing }
  }

  async approve(request: ApprovalRequest): Promise<ApprovalAnswer> {
    this.asked.push(request)
    if (this.#standing) return this.#standing
    const { promise, resolve } = Promise.withResolvers<ApprovalAnswer>()
    this.#open.push(resolve)
    return promise
  }

  answer(decision: ApprovalAnswer['decision'], reason?: string): void {
    this.#open.shift()!(reason === undefined ? { decision } : { decision, reason })
  }
}

export class ScriptedInteractor implements Interactor {
  readonly asked: InteractionEnvelope[] = []
  readonly #respond: (envelope: InteractionEnvelope) => InteractionResponse | Promise<InteractionResponse>

  constructor(respond: (envelope: InteractionEnvelope) => InteractionResponse | Promise<InteractionResponse>) {
    this.#respond = respond
  }

  async interact(envelope: InteractionEnvelope): Promise<InteractionResponse> {
    this.asked.push(envelope)
    return this.#respond(envelope)
  }
}
