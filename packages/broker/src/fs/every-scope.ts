import type { GlobMatch } from '@bulkhead/kit/glob'
import type { Reach, ScopePatterns } from './path-patterns.ts'

/** What paths are held against: the patterns of a grant, alone or with those of its ceilings. */
export type Patterns = Pick<ScopePatterns, 'match' | 'reaches' | 'coversAll' | 'protection'>

/** A grant under ceilings: what each of them covers is covered. */
export function inEvery(layers: readonly Patterns[]): Patterns {
  const [only] = layers
  if (only !== undefined && layers.length === 1) return only
  return {
    match(path): GlobMatch {
      let [covers, leads] = [true, true]
      for (const layer of layers) {
        const match = layer.match(path)
        covers &&= match.covers
        leads &&= match.leads
      }
      return { covers, leads }
    },
    reaches: (path: string, reach: Reach) => layers.every((layer) => layer.reaches(path, reach)),
    protection: (path) => layers.values().map((layer) => layer.protection(path)).find((found) => found !== undefined),
    coversAll: (folder) => layers.every((layer) => layer.coversAll(folder)),
  }
}
