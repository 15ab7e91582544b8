import type { Interactor, Loader, ProjectTrust } from '@bulkhead/contract'

/** Asks once, before anything of the project is read. No layer: nothing to ask. Nobody to ask: declined. */
export async function decideTrust(loader: Loader, workspace: string, interactor: Interactor | undefined): Promise<ProjectTrust> {
  if (!await loader.hasProjectLayer(workspace)) return 'once'
  if (!interactor) return 'declined'
  const answer = await interactor.interact({
    correlationId: 'trust',
    issuedAt: new Date().toISOString(),
    source: 'bulkhead',
    request: {
      kind: 'trustProject',
      path: workspace,
      summary: 'This project brings tools and settings of its own. They are read and their tools offered only if you trust it.',
    },
  }, new AbortController().signal)
  return answer.status === 'accepted' && answer.value === true ? 'once' : 'declined'
}
