import type { ExtensionDescriptor } from '@bulkhead/contract'
import { createLoader } from '@bulkhead/loader'
import type { Forest } from './extension-forest.ts'

/** One load by a loader of its own. `warm`: with what is remembered, which is written where there is nothing yet. */
export async function loadForest({ globalRoot, workspace, cache }: Forest, warm: boolean): Promise<readonly ExtensionDescriptor[]> {
  const loader = createLoader({ coreVersion: '1.0.0', roots: { global: globalRoot }, bundled: [], ...(warm && { cache }) })
  const { extensions, diagnostics } = await loader.load({ workspace, trust: 'declined', projectDigest: 'any', overrides: { policy: { lock: { global: 'off' } } } })
  if (diagnostics.length > 0) throw new Error(`${diagnostics[0]!.code}: ${diagnostics[0]!.message}`)
  if (extensions.some(({ integrity }) => integrity !== 'verified')) throw new Error('An extension was not verified.')
  return extensions
}
