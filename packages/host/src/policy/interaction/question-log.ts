import { hash } from 'node:crypto'
import type { InteractionRequest, PasskeyAssertion } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'

export interface AskedQuestion {
  readonly question: InteractionRequest
  /** Absent if it was declined, and for a password: passwords are never stored. */
  readonly answer?: Json
  /** What came with it, if a rule demanded it. It is checked when the call continues. */
  readonly passkey?: PasskeyAssertion
}

/**
 * What one attempt of a call has asked people. A call that continues after a pause runs from its beginning, and gets
 * the answers from before as long as it asks the same questions in the same order.
 */
export class QuestionLog {
  readonly #before: readonly AskedQuestion[]
  readonly #asked: AskedQuestion[] = []
  #isReplay = true

  constructor(before: readonly AskedQuestion[]) {
    this.#before = before
  }

  get asked(): readonly AskedQuestion[] {
    return this.#asked
  }

  /** The answer from before, or undefined if it must be asked. */
  replay(question: InteractionRequest): Json | undefined {
    const earlier = this.#before[this.#asked.length]
    this.#isReplay &&= earlier !== undefined && textOf(earlier.question) === textOf(question)
    if (!this.#isReplay || earlier?.answer === undefined) return undefined
    this.#asked.push(earlier)
    return earlier.answer
  }

  note(question: InteractionRequest, answer: Json | undefined): void {
    this.#asked.push({ question, ...(answer === undefined || question.kind === 'Auth.Password' ? {} : { answer }) })
  }
}

const textOf = (question: InteractionRequest): string => canonicalJson(question as unknown as Json)

/** A call that may continue after a pause. */
interface ContinuedCall {
  readonly tool: { readonly identity: string }
  readonly scope: {
    readonly resumption: { readonly identity: string; readonly asked: readonly AskedQuestion[] } | undefined
  }
}

/** Answers are for the tool that asked, and not for a replacement. */
export const identityOf = ({ tool }: Pick<ContinuedCall, 'tool'>): string => hash('sha256', tool.identity)

/** Those about a whole call. The host asks them, before the tool runs; a tool asks others. */
const isApproval = ({ question: { kind } }: AskedQuestion): boolean => kind === 'Approve' || kind === 'grantStageTool'

function askedBefore(call: ContinuedCall): readonly AskedQuestion[] {
  const { resumption } = call.scope
  return resumption?.identity === identityOf(call) ? resumption.asked : []
}

/** The approvals that people gave or refused while the call was paused. */
export const approvalsIn = (call: ContinuedCall): readonly AskedQuestion[] => askedBefore(call).filter(isApproval)
/** What its tool asked before it paused. */
export const answersIn = (call: ContinuedCall): readonly AskedQuestion[] =>
  askedBefore(call).filter((asked) => !isApproval(asked))
