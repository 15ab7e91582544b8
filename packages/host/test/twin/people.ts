import type {
  ApprovalAnswer, ApprovalRequest, Approver, InteractionEnvelope, InteractionResponse, Interactor,
} from '@bulkhead/contract'

/** An approver that answers when the test says so. */
export class ScriptedApprover implements Approver {
  readonly asked: ApprovalRequest[] = []
  readonly #open: ((answer: ApprovalAnswer) => void)[] = []
  readonly #answer: ApprovalAnswer | undefined

  /** With an answer every question is answered at once. */
  constructor(answer?: ApprovalAnswer['decision']) {
    this.#answer = answer && { decision: answer }
  }

  async approve(request: ApprovalRequest): Promise<ApprovalAnswer> {
    this.asked.push(request)
    if (this.#answer) return this.#answer
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
