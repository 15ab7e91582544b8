import { untilAborted, type Diagnostic, type InteractionRequest, type Interactor, type Loader, type ProjectTrust, type TrustDecision, type TrustStanding } from '@bulkhead/contract'

/** What a load is told of the project, with what the record of trusted projects has to say for itself. */
export interface TrustOutcome {
  readonly trust: ProjectTrust
  readonly projectDigest?: string
  readonly diagnostics: readonly Diagnostic[]
}

const SUMMARIES: Readonly<Record<'unknown' | 'changed', string>> = {
  unknown: 'This project brings tools and settings of its own. They are read and their tools offered only if you trust it.',
  changed: 'This project brings tools and settings of its own. You trusted it, and they have changed since.',
}

/**
 * What was said before counts; else somebody is asked, before anything of the project is read. Nobody to ask: declined. `signal`: takes
 * the question back.
 */
export async function decideTrust(
  loader: Loader, workspace: string, interactor: Interactor | undefined, signal: AbortSignal = new AbortController().signal,
): Promise<TrustOutcome> {
  const { standing, diagnostics } = await loader.trust.standing(workspace)
  switch (standing.kind) {
    case 'nothing':
      return { trust: 'once', diagnostics }
    case 'declined':
      return { trust: 'declined', diagnostics }
    case 'trusted':
      return { trust: 'trusted', projectDigest: standing.digest, diagnostics }
    case 'once':
      if (await loader.trust.takeUp(workspace)) return { trust: 'once', projectDigest: standing.digest, diagnostics }
      return { ...await ask(loader, workspace, interactor, 'unknown', signal), diagnostics }
    default:
      return { ...await ask(loader, workspace, interactor, standing.kind, signal), diagnostics }
  }
}

async function ask(
  loader: Loader, workspace: string, interactor: Interactor | undefined, why: keyof typeof SUMMARIES & TrustStanding['kind'],
  signal: AbortSignal,
): Promise<Omit<TrustOutcome, 'diagnostics'>> {
  if (!interactor) return { trust: 'declined' }
  const decision = await heard(interactor, { kind: 'trustProject', path: workspace, summary: SUMMARIES[why] }, signal)
  if (decision === 'declined') await loader.trust.decide(workspace, 'declined')
  if (decision !== 'trusted') return { trust: decision ?? 'declined' }
  const { digest } = await loader.trust.decide(workspace, 'trusted')
  return { trust: 'trusted', ...(digest !== null && { projectDigest: digest }) }
}

/** Whoever fails to answer, or is nobody, has decided nothing. */
async function heard(interactor: Interactor, request: InteractionRequest, signal: AbortSignal) {
  const envelope = { correlationId: `trust-${crypto.randomUUID()}`, issuedAt: new Date().toISOString(), source: 'bulkhead', request }
  try {
    const answer = await untilAborted((async () => interactor.interact(envelope, signal))(), signal)
    return answer.status === 'accepted' ? readDecision(answer.value) : undefined
  } catch {
    return undefined
  }
}

/** A plain yes is good for this once. Anything that is not an answer is no decision either. */
function readDecision(value: unknown): Exclude<TrustDecision, 'revoked'> | undefined {
  if (value === true) return 'once'
  return value === 'trusted' || value === 'once' || value === 'declined' ? value : undefined
}
