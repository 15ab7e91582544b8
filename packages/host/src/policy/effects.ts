import type { AffectedPath, CallEffects, RuleCapability, RuleQuestion, ScopedRule } from '@bulkhead/contract'
import { matchGlob } from '@bulkhead/kit/glob'
import { meetingRules } from './resources.ts'

type Touch = RuleQuestion['touches'][number]

/** Every path also as what its links lead to. Paths that cannot be followed are not known. */
export function followLinks({ reads, writes, net }: CallEffects, realPath: ((path: string) => string) | undefined): CallEffects {
  const [allReads, allWrites] = [followPaths(reads, realPath), followPaths(writes, realPath)]
  return { ...(allReads && { reads: allReads }), ...(allWrites && { writes: allWrites }), ...(net === false && { net }) }
}

function followPaths(paths: readonly AffectedPath[] | undefined, realPath: ((path: string) => string) | undefined): readonly AffectedPath[] | undefined {
  if (paths === undefined || paths.length === 0) return paths
  try {
    return realPath && paths.flatMap((one) => [one, { ...one, path: realPath(one.path) }])
  } catch {
    return undefined
  }
}

/** What a call touches: what is known of it, and beside that whatever its tool may touch. */
export function touchesOfCall({ reads, writes, net }: CallEffects, ofTool: readonly Touch[], rules: readonly ScopedRule[]): readonly Touch[] {
  const known = new Map<RuleCapability, readonly Touch[]>()
  if (reads) known.set('fs.read', reads.flatMap((path) => touchesOfPath('fs.read', path, rules)))
  if (writes) known.set('fs.write', writes.flatMap((path) => touchesOfPath('fs.write', path, rules)))
  if (net === false) known.set('net.fetch', [])
  // A tool does nothing that it may not do, whatever its arguments say.
  const powers = new Set(ofTool.map(({ capability }) => capability))
  return [...ofTool.filter(({ capability }) => !known.has(capability)), ...[...known].flatMap(([capability, touches]) => powers.has(capability) ? touches : [])]
}

function touchesOfPath(capability: RuleCapability, { path, below }: AffectedPath, rules: readonly ScopedRule[]): readonly Touch[] {
  const own: Touch = { capability, subject: path }
  if (below) return [own, ...meetingRules([{ capability, all: [`${path}/**`] }], rules)]
  // A rule that names a folder speaks of all in it.
  const above = rules.filter(({ permission, pattern }) => permission === capability && matchGlob(`${pattern}/**`, path))
  return [own, ...above.map(({ pattern }): Touch => ({ capability, subject: pattern }))]
}
