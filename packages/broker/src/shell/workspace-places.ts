import { basename, join } from 'node:path'
import { BulkheadError, mustBeNamed, SENSITIVE } from '@bulkhead/contract'
import { entriesIn, scanningOnce } from '@bulkhead/kit/folders'
import { walkFolders } from './folder-walk.ts'

/** Folders of a repository with its data. They name no programs, and have many entries. */
const GIT_DATA: ReadonlySet<string> = new Set(['objects', 'refs', 'logs'])
/** Files and folders of a repository that name programs, or are programs. */
const GIT_RUN: ReadonlySet<string> = new Set(['config', 'config.worktree', 'hooks'])

export interface Place {
  readonly path: string
  readonly isFolder: boolean
}

export interface WorkspacePlaces {
  /** Files and folders with credentials or variables, at any depth. */
  readonly sensitive: readonly Place[]
  /**
   * Files and folders that other programs run: of a repository its settings and hooks, so that git can still commit.
   * Packages in `node_modules` have many, and are replaced as a whole.
   */
  readonly run: readonly Place[]
}

/**
 * Looks for them in these folders now. The content of a folder is read again only after a change, so that a command
 * waits for one `stat` per folder. Rejects with CapabilityUnavailable for a tree that is too large.
 */
export async function findPlaces(roots: readonly string[], wall: 'look' | 'work'): Promise<WorkspacePlaces> {
  const sensitive: Place[] = []
  const run: Place[] = []
  await walkFolders(roots.map((folder) => ({ folder, isPackage: false })), ({ folder, isPackage }) => {
    const found = scan(folder)
    if (found === undefined) return []
    sensitive.push(...found.sensitive)
    if (!isPackage) run.push(...found.run)
    return found.folders
      .map((name) => ({ folder: join(folder, name), isPackage: isPackage || name === 'node_modules' }))
  }, () => tooManyEntries(wall))
  return { sensitive, run }
}

export const tooManyEntries = (wall: 'look' | 'work'): BulkheadError => new BulkheadError(
  'CapabilityUnavailable',
  'The command was not run: the workspace has too many entries to hide its files with credentials. '
    + 'Use a smaller workspace, or run the command without this wall.',
  { data: { wall, reason: 'too many entries' } },
)

interface Scanned extends WorkspacePlaces {
  /** Names of folders to visit. */
  readonly folders: readonly string[]
}

const scan = scanningOnce((folder): Scanned => {
  const entries = entriesIn(folder)
  const isRepository = ['HEAD', 'objects', 'config'].every((name) => entries.some((entry) => entry.name === name))
  const [sensitive, run, folders]: [Place[], Place[], string[]] = [[], [], []]
  for (const entry of entries) {
    const { name } = entry
    const isFolder = entry.isDirectory()
    // A link is no file of its own: where it leads to counts.
    if (!isFolder && !entry.isFile()) continue
    const place = { path: join(folder, name), isFolder }
    if (isSensitive(folder, name)) sensitive.push(place)
    const isRepositoryFolder = isFolder && name === '.git'
    if (isRepository ? GIT_RUN.has(name) : mustBeNamed(name) && !isRepositoryFolder) run.push(place)
    else if (isFolder && sensitive.at(-1) !== place && !(isRepository && GIT_DATA.has(name))) folders.push(name)
  }
  return { sensitive, run, folders }
})

/** Only names like these, and what is directly in a folder with such a name, can be a place of the table. */
const MAY_BE_SENSITIVE = /^[^\x21-\x2d\x2f-\x7e]/

function isSensitive(folder: string, name: string): boolean {
  const above = basename(folder)
  if (MAY_BE_SENSITIVE.test(name)) return SENSITIVE.find(`/${above}/${name}`, `/${above}`) !== undefined
  // Such as `.config/gh`. Below a folder that is sensitive itself, nothing is searched unless an operator chose it.
  return MAY_BE_SENSITIVE.test(above) && SENSITIVE.find(`/${above}`, '/') === undefined
    && SENSITIVE.find(`/${above}/${name}`, '/') !== undefined
}
