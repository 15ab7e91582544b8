import { statSync, type Dirent } from 'node:fs'
import { join } from 'node:path'
import { BulkheadError, type DeniedPaths } from '@bulkhead/contract'
import { entriesIn, scanningOnce } from '@bulkhead/kit/folders'
import { isWithin, realOf } from '@bulkhead/kit/programs'
import { walkFolders } from './folder-walk.ts'
import type { Place } from './workspace-places.ts'

export interface DeniedPlace extends Place {
  /** Its content is not read. Otherwise it is only not written. */
  readonly isHidden: boolean
  /** A rule names this place, which is in none of the folders that were searched. */
  readonly isElsewhere?: true
  /** As the subject of a sentence. */
  readonly rule: string
}

/**
 * The files and folders in these folders that exist now and that rules deny, and others that rules name. What is in
 * such a folder is not listed, unless a rule allows some of it. Rejects with RuleDenied for a tree that is too large to be looked through.
 */
export async function findDenied(
  roots: readonly string[], denied: DeniedPaths | undefined,
): Promise<readonly DeniedPlace[]> {
  if (denied === undefined) return []
  const scan = scans.getOrInsertComputed(denied, () => scannerOf(denied))
  const found: DeniedPlace[] = []
  await walkFolders(roots, (folder) => {
    const { places = [], folders = [] } = scan(folder) ?? {}
    found.push(...places.filter(({ path }) => roots.some((root) => isWithin(path, root))))
    return folders
  }, () => notHidden(
    denied.rule ?? 'a rule', 'the workspace has too many folders', undefined, 'Open a smaller workspace',
  ))
  return [...found, ...denied.places.flatMap((path) => elsewhere(path, roots, denied))]
}

function elsewhere(path: string, roots: readonly string[], denied: DeniedPaths): readonly DeniedPlace[] {
  const real = realOf(path)
  const rule = real === undefined ? undefined : denied.ruleFor('fs.read', path)
  if (real === undefined || rule === undefined || roots.some((root) => isWithin(real, root) || isWithin(root, real))) return []
  return [{ path: real, isFolder: isFolderAt(real), isHidden: true, isElsewhere: true, rule }]
}

/** Not started, because a wall cannot keep it from what a rule denies. `why` ends a sentence. */
export const notHidden = (
  rule: string, why: string, what = 'command', cure = 'Install bubblewrap and allow user namespaces',
): BulkheadError => new BulkheadError(
  'RuleDenied', `The ${what} was not run: ${rule} denies files, and ${why}. ${cure}, or change the rule.`,
  { data: { stage: 'rules', source: rule } },
)

/** `count`: places, each of which would be a mount. */
export const tooManyHidden = (rule: string, count: number, what?: string): BulkheadError =>
  notHidden(rule, `${count} files are too many to hide`, what, 'Deny their folders instead')

/** What a folder contained is known until it changes. */
const scans = new WeakMap<DeniedPaths, (folder: string) => Scanned | undefined>()

interface Scanned {
  readonly places: readonly DeniedPlace[]
  /** Paths of folders to visit. */
  readonly folders: readonly string[]
}

const scannerOf = (denied: DeniedPaths): ((folder: string) => Scanned | undefined) => scanningOnce((folder) => {
  const [places, folders]: [DeniedPlace[], string[]] = [[], []]
  for (const entry of entriesIn(folder)) {
    const path = join(folder, entry.name)
    const place = placeAt(path, entry, denied)
    // A folder that is only partly denied is entered, and its entries count.
    const isEntered = entry.isDirectory() && (place === undefined || !place.isHidden || denied.hasExceptions)
    if (isEntered) folders.push(path)
    if (place !== undefined && !(entry.isDirectory() && denied.hasExceptions)) places.push(place)
  }
  return { places, folders }
})

function placeAt(path: string, entry: Dirent, denied: DeniedPaths): DeniedPlace | undefined {
  const hiding = denied.ruleFor('fs.read', path)
  const rule = hiding ?? denied.ruleFor('fs.write', path)
  if (rule === undefined) return undefined
  const isHidden = hiding !== undefined
  if (!entry.isSymbolicLink()) return { path, isFolder: entry.isDirectory(), isHidden, rule }
  // Nothing can be mounted on a link: where it leads to counts.
  const real = realOf(path)
  return real === undefined ? undefined : { path: real, isFolder: isFolderAt(real), isHidden, rule }
}

const isFolderAt = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
