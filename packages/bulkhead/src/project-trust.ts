import type {
  ConfigFile, Diagnostic, Interactor, Loader, LoadReport, ProjectTrust, TrustDecision, TrustStanding,
} from '@bulkhead/contract'

/** What a load is told of the project, with what the record of trusted projects has to say for itself. */
interface TrustOutcome {
  readonly trust: ProjectTrust
  readonly projectDigest?: string
  readonly diagnostics: readonly Diagnostic[]
}

const SUMMARIES: Readonly<Record<'unknown' | 'changed', string>> = {
  unknown: 'This project brings tools and settings of its own. They are read and their tools offered only if you trust it.',
  changed: 'This project brings tools and settings of its own. You trusted it, and they have changed since.',
}

/** What a host asks for, of one workspace. */
export interface ProjectRequest {
  readonly workspace: string
  /** What whoever embeds the host says; else it is found out. */
  readonly decided: ProjectTrust | undefined
  readonly interactor: Interactor | undefined
  readonly overrides: ConfigFile | undefined
}

export interface OpenedProject {
  /** Every load uses what was decided; a project that was trusted and has changed since asks again. */
  load(): Promise<LoadReport>
  watch(onChange: () => void): () => void
}

export async function openProject(
  loader: Loader, { workspace, decided, interactor, overrides }: ProjectRequest,
): Promise<OpenedProject> {
  let outcome: TrustOutcome = decided === undefined
    ? await decideTrust(loader, workspace, interactor) : { trust: decided, diagnostics: [] }
  const loadOnce = async (): Promise<LoadReport> => {
    const { diagnostics, ...trust } = outcome
    const report = await loader.load({ workspace, ...trust, ...(overrides && { overrides }) })
    return { ...report, diagnostics: [...diagnostics, ...report.diagnostics] }
  }
  return {
    async load() {
      const report = await loadOnce()
      const changed = outcome.projectDigest !== undefined && report.diagnostics.some(({ code }) => code === 'ProjectTrustRequired')
      if (!changed) return report
      outcome = await decideTrust(loader, workspace, interactor)
      return loadOnce()
    },
    watch: (onChange) => loader.watch({ workspace, trust: outcome.trust }, onChange),
  }
}

/** What was said before counts; else somebody is asked, before anything of the project is read. Nobody to ask: declined. */
export async function decideTrust(loader: Loader, workspace: string, interactor: Interactor | undefined): Promise<TrustOutcome> {
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
      return { ...await ask(loader, workspace, interactor, 'unknown'), diagnostics }
    default:
      return { ...await ask(loader, workspace, interactor, standing.kind), diagnostics }
  }
}

async function ask(
  loader: Loader, workspace: string, interactor: Interactor | undefined, why: keyof typeof SUMMARIES & TrustStanding['kind'],
): Promise<Omit<TrustOutcome, 'diagnostics'>> {
  if (!interactor) return { trust: 'declined' }
  const answer = await interactor.interact({
    correlationId: 'trust',
    issuedAt: new Date().toISOString(),
    source: 'bulkhead',
    request: { kind: 'trustProject', path: workspace, summary: SUMMARIES[why] },
  }, new AbortController().signal)
  const decision = answer.status === 'accepted' ? readDecision(answer.value) : undefined
  if (decision === 'declined') await loader.trust.decide(workspace, 'declined')
  if (decision !== 'trusted') return { trust: decision ?? 'declined' }
  const { digest } = await loader.trust.decide(workspace, 'trusted')
  return { trust: 'trusted', ...(digest !== null && { projectDigest: digest }) }
}

/** A plain yes is good for this once. Anything that is not an answer is no decision either. */
function readDecision(value: unknown): Exclude<TrustDecision, 'revoked'> | undefined {
  if (value === true) return 'once'
  return value === 'trusted' || value === 'once' || value === 'declined' ? value : undefined
}
