import { BulkheadError, type ApprovalAnswer } from '@bulkhead/contract'
import type { KeptApproval } from '../policy/approvals/kept-approval.ts'
import type { ValidatedCall } from '../policy/call.ts'
import type { CallMeaning } from '../policy/call-view.ts'
import { approvedBefore } from '../policy/evaluate.ts'
import type { Verdict } from '../policy/verdict.ts'

/**
 * Whether an "always" that a person gives to another question answers this one too, while it waits for its turn or is being
 * asked: then it is taken back.
 */
export class AnsweredMeanwhile {
  /** Aborted with the call, and when the question is answered by another one. */
  readonly signal: AbortSignal
  readonly dispose: () => void
  readonly #answered = new AbortController()
  readonly #call: ValidatedCall
  readonly #meaning: CallMeaning
  readonly #answerable: boolean
  #verdict: Verdict | undefined

  constructor(call: ValidatedCall, meaning: CallMeaning, answerable: boolean) {
    const { signal, session: { approvals } } = call
    this.#call = call
    this.#meaning = meaning
    this.#answerable = answerable
    this.signal = AbortSignal.any([signal, this.#answered.signal])
    this.dispose = approvals.onProjectGrant(() => {
      if (answerable && this.#take(approvals.answering(call, meaning))) this.#answered.abort(takenBack())
    })
  }

  /** What let it through, where something did. */
  get verdict(): Verdict | undefined {
    return this.#verdict
  }

  /** For when its turn has come. */
  async answer(): Promise<ApprovalAnswer | undefined> {
    return this.#answerable && this.#take(await approvedBefore(this.#call, this.#meaning)) ? { decision: 'once' } : undefined
  }

  #take(approvals: readonly KeptApproval[] | undefined): boolean {
    if (!approvals || this.#verdict) return this.#verdict !== undefined
    this.#call.relyOn(approvals)
    this.#verdict = approvals[0]?.verdict
    return true
  }
}

const takenBack = () =>
  new BulkheadError('InteractionAlreadyAnswered', 'An approval that was given to another question answers this one too.')
