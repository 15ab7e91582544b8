import {
  mayLoad, type Diagnostic, type InteractionRequest, type Interactor, type Loader, type ProjectDecision,
  type ProjectTool, type TrustDecision, type TrustStatus,
} from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { shadowsOf, toolLines, toolsOfProject } from './project-tools.ts'

/** The trust decision for a load request, with diagnostics of the decision file. */
export interface TrustOutcome extends ProjectDecision {
  readonly diagnostics: readonly Diagnostic[]
}

export interface ConsentOptions {
  readonly loader: Pick<Loader, 'trust' | 'load'>
  readonly workspace: string
  readonly interactor?: Interactor | undefined
  /** Withdraws an open question. */
  readonly signal?: AbortSignal
  /** Trusts the content of the layer at the first decision without asking. */
  readonly asFound?: boolean
}

const SUMMARIES: Readonly<Record<'unknown' | 'changed', string>> = {
  unknown: 'This project has its own tools, settings or skills. They are used only if you trust it.',
  changed: 'This project has its own tools, settings or skills. They have changed since your last decision.',
}

/**
 * Decides before each load whether to trust the project layer. An answer applies only to the content it was given for.
 */
export class ProjectConsent {
  readonly #options: ConsentOptions
  /** Trusted in advance. Overrides the stored decision. */
  #found: ProjectDecision | undefined
  /** The last answer that was not stored. */
  #answer: ProjectDecision | undefined

  constructor(options: ConsentOptions) {
    this.#options = options
  }

  /** Uses the stored decision, then an earlier answer, then asks. Without an interactor the layer is declined. */
  async decide(): Promise<TrustOutcome> {
    const { loader: { trust }, workspace, asFound } = this.#options
    if (asFound) {
      const digest = await trust.measure(workspace)
      this.#found ??= { trust: 'once', projectDigest: digest }
      if (mayLoad(digest, this.#found)) return { ...this.#found, diagnostics: [] }
    }
    const { status, diagnostics } = await trust.status(workspace)
    switch (status.kind) {
      case 'nothing':
        return { trust: 'once', projectDigest: status.digest, diagnostics }
      case 'declined':
      case 'trusted':
        return { trust: status.kind, projectDigest: status.digest, diagnostics }
      default:
        return {
          ...await this.#answered() ?? await this.#takenUp(status) ?? await this.#ask(status.kind), diagnostics,
        }
    }
  }

  async #answered(): Promise<ProjectDecision | undefined> {
    const { loader: { trust }, workspace } = this.#options
    return this.#answer && await trust.measure(workspace) === this.#answer.projectDigest ? this.#answer : undefined
  }

  async #takenUp(status: TrustStatus): Promise<ProjectDecision | undefined> {
    const { loader: { trust }, workspace } = this.#options
    if (status.kind !== 'once' || !await trust.takeUp(workspace)) return undefined
    this.#answer = { trust: 'once', projectDigest: status.digest }
    return this.#answer
  }

  async #ask(why: 'unknown' | 'changed' | 'once'): Promise<ProjectDecision> {
    const { loader: { trust }, workspace, interactor, signal = new AbortController().signal } = this.#options
    if (!interactor) return { trust: 'declined', projectDigest: 'any' }
    // Measure before asking: the answer must not cover changes made while the question is open.
    const projectDigest = await trust.measure(workspace)
    const tools = await this.#tools(projectDigest)
    const summary = [SUMMARIES[why === 'changed' ? 'changed' : 'unknown'], ...toolLines(tools)].join('\n')
    const decision = await answerTo({ kind: 'trustProject', path: workspace, summary, tools }, interactor, signal)
    if (decision === 'declined' || decision === 'trusted') await trust.decide(workspace, decision, projectDigest)
    else this.#answer = { trust: decision ?? 'declined', projectDigest }
    return { trust: decision ?? 'declined', projectDigest }
  }

  /** As `bulkhead trust` shows them: verified, and nothing has run. */
  async #tools(projectDigest: string): Promise<readonly ProjectTool[]> {
    const { loader, workspace } = this.#options
    const below = await loader.load({ workspace, trust: 'declined', projectDigest })
    const { extensions } = await loader.load({ workspace, trust: 'once', projectDigest })
    return toolsOfProject(extensions, shadowsOf(below))
  }
}

/** Returns undefined if the interactor fails or gives no answer. */
async function answerTo(request: InteractionRequest, interactor: Interactor, signal: AbortSignal) {
  const envelope = {
    correlationId: `trust-${crypto.randomUUID()}`, issuedAt: new Date().toISOString(), source: 'bulkhead', request,
  }
  try {
    const answer = await untilAborted((async () => interactor.interact(envelope, signal))(), signal)
    return answer.status === 'accepted' ? readDecision(answer.value) : undefined
  } catch {
    return undefined
  }
}

/** `true` means `once`. Any unknown value is no decision. */
function readDecision(value: unknown): Exclude<TrustDecision, 'revoked'> | undefined {
  if (value === true) return 'once'
  return value === 'trusted' || value === 'once' || value === 'declined' ? value : undefined
}
