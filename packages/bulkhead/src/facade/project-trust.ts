import {
  mayLoad, type Diagnostic, type InteractionRequest, type Interactor, type Loader, type ProjectStanding, type TrustDecision, type TrustStanding,
} from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'

/** What a load request says of the project, and what the record of decisions reports about itself. */
export interface TrustOutcome extends ProjectStanding {
  readonly diagnostics: readonly Diagnostic[]
}

export interface ConsentOptions {
  readonly loader: Pick<Loader, 'trust'>
  readonly workspace: string
  readonly interactor?: Interactor | undefined
  /** Withdraws an open question. */
  readonly signal?: AbortSignal
  /** Agrees to the layer as it is at the first decision, without a question. */
  readonly asFound?: boolean
}

const SUMMARIES: Readonly<Record<'unknown' | 'changed', string>> = {
  unknown: 'This project brings tools and settings of its own. They are read and their tools offered only if you trust it.',
  changed: 'This project brings tools and settings of its own. They have changed since you decided about them.',
}

/** Decides about the project layer of one workspace before each load. Every answer counts for the content it was given about. */
export class ProjectConsent {
  readonly #options: ConsentOptions
  /** Agreed to in advance. Goes before the record. */
  #found: ProjectStanding | undefined
  /** The last answer that is not in the record. */
  #answer: ProjectStanding | undefined

  constructor(options: ConsentOptions) {
    this.#options = options
  }

  /** The record counts first, then an answer of this process, then the interactor is asked. Without one the layer is declined. */
  async decide(): Promise<TrustOutcome> {
    const { loader: { trust }, workspace, asFound } = this.#options
    if (asFound) {
      const digest = await trust.measure(workspace)
      this.#found ??= { trust: 'once', projectDigest: digest }
      if (mayLoad(digest, this.#found)) return { ...this.#found, diagnostics: [] }
    }
    const { standing, diagnostics } = await trust.standing(workspace)
    switch (standing.kind) {
      case 'nothing':
        return { trust: 'once', projectDigest: standing.digest, diagnostics }
      case 'declined':
      case 'trusted':
        return { trust: standing.kind, projectDigest: standing.digest, diagnostics }
      default:
        return { ...await this.#answered() ?? await this.#takenUp(standing) ?? await this.#ask(standing.kind), diagnostics }
    }
  }

  async #answered(): Promise<ProjectStanding | undefined> {
    const { loader: { trust }, workspace } = this.#options
    return this.#answer && await trust.measure(workspace) === this.#answer.projectDigest ? this.#answer : undefined
  }

  async #takenUp(standing: TrustStanding): Promise<ProjectStanding | undefined> {
    const { loader: { trust }, workspace } = this.#options
    if (standing.kind !== 'once' || !await trust.takeUp(workspace)) return undefined
    this.#answer = { trust: 'once', projectDigest: standing.digest }
    return this.#answer
  }

  async #ask(why: 'unknown' | 'changed' | 'once'): Promise<ProjectStanding> {
    const { loader: { trust }, workspace, interactor, signal = new AbortController().signal } = this.#options
    if (!interactor) return { trust: 'declined', projectDigest: 'any' }
    // Measured before the question: what comes while it is open is not covered by the answer.
    const projectDigest = await trust.measure(workspace)
    const summary = SUMMARIES[why === 'changed' ? 'changed' : 'unknown']
    const decision = await answerTo({ kind: 'trustProject', path: workspace, summary }, interactor, signal)
    if (decision === 'declined' || decision === 'trusted') await trust.decide(workspace, decision, projectDigest)
    else this.#answer = { trust: decision ?? 'declined', projectDigest }
    return { trust: decision ?? 'declined', projectDigest }
  }
}

/** An interactor that fails or gives no answer has decided nothing. */
async function answerTo(request: InteractionRequest, interactor: Interactor, signal: AbortSignal) {
  const envelope = { correlationId: `trust-${crypto.randomUUID()}`, issuedAt: new Date().toISOString(), source: 'bulkhead', request }
  try {
    const answer = await untilAborted((async () => interactor.interact(envelope, signal))(), signal)
    return answer.status === 'accepted' ? readDecision(answer.value) : undefined
  } catch {
    return undefined
  }
}

/** A plain yes is good for this once. Any other value is no decision. */
function readDecision(value: unknown): Exclude<TrustDecision, 'revoked'> | undefined {
  if (value === true) return 'once'
  return value === 'trusted' || value === 'once' || value === 'declined' ? value : undefined
}
