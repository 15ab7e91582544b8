import type {
  ApprovalAnswer, ApprovalRequest, Approver, InteractionEnvelope, InteractionResponse, Interactor,
} from '@bulkhead/contract'

/** An approver that answers when the test says so. */
export class ScriptedApprover implements Approver {
  readonly asked: ApprovalRequest[] = []
  readonly #open: ((answer: ApprovalAnswer) => void)[] = []
  readonly #answers: readonly ApprovalAnswer['decision'][]

  /** With answers every question is answered at once; the last one repeats. */
  constructor(...answers: readonly ApprovalAnswer['decision'][]) {
    this.#answers = answers
  }

  async approve(request: ApprovalRequest): Promise<ApprovalAnswer> {
    this.asked.push(request)
    const decision = this.#answers[this.asked.length - 1] ?? this.#answers.at(-1)
    if (decision) return { decision }
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
