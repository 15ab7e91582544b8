import type { BulkheadError } from '@bulkhead/contract'
import type { GlobMatch } from '@bulkhead/kit/glob'
import type { Disk, Found } from './disk.ts'
import type { NameFolding } from './name-folding.ts'
import { EXACT, foldNames } from './name-folding.ts'
import type { PathModel } from './paths.ts'
import { joinNames, parentOf } from './paths.ts'

/** As many as Linux follows. */
const LINKS = 40

export interface Ground {
  readonly disk: Disk
  readonly paths: PathModel
  /** How names fold in a folder. */
  foldingIn(folder: string): NameFolding
  /** What may be looked at: what the grant covers, and the folders that lead there. */
  match(path: string): GlobMatch
  /** Where to start for a path from the top: at the root of the grant it lies in, where that really is, or at the top. */
  enter(root: string, names: readonly string[]): Station
  /** `at`: what the grant does not cover; absent where it is the way that is at fault. */
  denied(at?: string): BulkheadError
}

/** A place on the way and the names still ahead of it. */
export interface Station {
  readonly at: string
  readonly ahead: readonly string[]
}

export interface Resolution {
  readonly real: string
  /** Whether the last name was a link. */
  readonly linked: boolean
}

/**
 * Where a path leads, name by name. Nothing is looked at that the grant neither covers nor has above it: a link that
 * leads elsewhere ends the search, so that nobody learns what lies there. What does not exist yet is where it would be.
 * Contract: rejects as `denied` says, or with an error of the disk.
 */
export async function resolvePath(path: string, ground: Ground): Promise<Resolution> {
  const { disk, paths } = ground
  const { root, names } = paths.split(path)
  let { at, ahead } = ground.enter(root, names)
  let links = 0
  let linked = false
  for (;;) {
    const [name, ...rest] = ahead
    if (name === undefined) return { real: at, linked }
    ahead = rest
    if (name === '..') {
      at = parentOf(at, paths).folder
      continue
    }
    const here = joinNames(at, name)
    const { covers, leads } = ground.match(here)
    if (!covers && !leads) throw ground.denied(here)
    const found = await disk.look(here)
    if (found === undefined) {
      // Nothing is above what does not exist.
      if (ahead.includes('..')) throw ground.denied()
      return { real: joinNames(here, ...ahead), linked }
    }
    if (found.kind !== 'link') {
      at = joinNames(at, await trueName(at, name, found, ground))
      if (ahead.length === 0) return { real: at, linked }
      // Nor above what is no folder.
      if (found.kind !== 'folder' && ahead.includes('..')) throw ground.denied()
      continue
    }
    if (++links > LINKS) throw ground.denied()
    linked ||= ahead.length === 0
    const written = await disk.target(here)
    const target = written === undefined ? undefined : paths.splitTarget(written)
    if (target === undefined) throw ground.denied()
    const next = target.root === undefined ? { at, ahead: target.names } : ground.enter(target.root, target.names)
    at = next.at
    ahead = [...next.ahead, ...ahead]
  }
}

/**
 * What the file system itself calls something that was found under a name. Where names are folded the folder is asked;
 * a name it does not know itself, such as a short form, could be judged by nothing.
 */
async function trueName(folder: string, name: string, found: Found, { disk, denied, foldingIn }: Ground): Promise<string> {
  const folding = foldingIn(folder)
  if (folding === EXACT) return name
  const names = await disk.names(folder)
  if (names.includes(name)) return name
  const alike = names.filter((other) => foldNames(other, ANY) === foldNames(name, ANY))
  for (const other of alike) {
    const same = await disk.look(joinNames(folder, other))
    if (same?.device === found.device && same.node === found.node) return other
  }
  throw denied()
}

const ANY: NameFolding = { case: true, normal: true }
