import { readFileSync, realpathSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import Module from 'node:module'
import { homedir, userInfo } from 'node:os'
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the global layer. */
export const homeFolder = (home: string | undefined): string => resolve(home ?? join(personFolder(), '.bulkhead'))

/** Where a user keeps kits. Tools cannot write there. */
export const kitFolder = (home: string | undefined): string => join(homeFolder(home), 'kits')

/** Where a user keeps guidance for the use of tools. Tools cannot write there. */
export const guidanceFolder = (home: string | undefined): string => join(homeFolder(home), 'guidance')

/** Where verification results and tool lists are cached, unless another folder is chosen. */
export const cacheFolder = (home: string, { cache }: { readonly cache?: string } = {}): string =>
  cache ?? join(home, 'cache')

/** Where changes of several files are noted until they are complete. */
export const changesFolder = (home: string): string => join(home, 'changes')

/** What this machine signs calls and results with. */
export const machineKeyFile = (home: string): string => join(home, 'machine-key.pem')

/** Whose calls, results and packages this machine accepts. */
export const fleetFile = (home: string): string => join(home, 'fleet.json')

/** Where the tokens of remote servers are kept. */
export const signInFolder = (home: string, tenant?: string): string =>
  tenant === undefined ? join(home, 'oauth') : join(home, 'oauth', 'tenants', tenant)

/**
 * Always absolute: with an empty or relative HOME, user files would be read from the current project. In a container the
 * user may have neither HOME nor an entry in the list of accounts. Then it is the root, as shells have it.
 */
export function personFolder(): string {
  try {
    const named = homedir()
    return isAbsolute(named) ? named : userInfo().homedir
  } catch {
    return '/'
  }
}

/** The user name of this process. In many containers the user has no name. */
export function accountName(): string {
  try {
    return userInfo().username || 'unknown'
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

/** The cache folder of the user. Relative paths are ignored, because they would point into the current project. */
export function userCacheFolder(
  env: NodeJS.ProcessEnv = process.env, platform: NodeJS.Platform = process.platform,
): string {
  const { XDG_CACHE_HOME: chosen = '', LOCALAPPDATA: local = '' } = env
  if (isAbsolute(chosen)) return join(chosen, 'bulkhead')
  if (platform === 'win32' && isAbsolute(local)) return join(local, 'bulkhead', 'cache')
  return join(personFolder(), platform === 'darwin' ? 'Library/Caches' : '.cache', 'bulkhead')
}

/**
 * The policy of this machine, which no configuration can loosen. The path does not depend on the environment, because a
 * project or a user could set it.
 */
export const machinePolicyFile = (platform: NodeJS.Platform = process.platform): string => {
  if (platform === 'win32') return 'C:\\ProgramData\\bulkhead\\policy.json'
  return platform === 'darwin' ? '/Library/Application Support/bulkhead/policy.json' : '/etc/bulkhead/policy.json'
}

/** Where the passwords of tenants are kept, each in a file with the name of the tenant. */
export const tenantsFolder = (home: string | undefined): string => join(homeFolder(home), 'tenants')

/** The same for the logins of workers. */
export const poolsFolder = (home: string | undefined): string => join(homeFolder(home), 'pools')

/** The database of the command line: state, approvals and the audit. */
export const storeFile = (home: string | undefined): string => join(homeFolder(home), 'bulkhead.db')

/**
 * Canonical paths of the home folder and of the compile cache. Tools may not access them, because their content
 * configures the host or runs as the user. The folders need not exist.
 */
export const keptFolders = (home: string): Promise<readonly [home: string, cache: string]> =>
  Promise.all([canonicalPath(home), canonicalPath(userCacheFolder())])

export async function canonicalPath(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    const above = dirname(path)
    return above === path ? path : join(await canonicalPath(above), basename(path))
  }
}

/** The fields of a package that name what its code may import. */
const DEPENDENCIES = ['dependencies', 'optionalDependencies', 'peerDependencies'] as const

/**
 * Canonical paths of all code that this process loads or could load: our packages, their dependencies, every
 * `node_modules` that Node searches, even a missing one, because a nearer folder takes precedence, and Node itself. Not
 * asynchronous: there are many small steps, and each host waits for them.
 */
export function ownCode(entry: string = fileURLToPath(import.meta.url)): readonly string[] {
  const folders = new Set([process.execPath, ...globalPaths].filter(isAbsolute).map((path) => realOf(path) ?? path))
  const seen = new Set<string>()
  const isCovered = (path: string): boolean =>
    [...folders].some((folder) => path === folder || path.startsWith(folder + sep))
  const add = (root: string): void => {
    if (seen.has(root)) return
    seen.add(root)
    const searched = foldersAbove(root).filter((folder) => basename(folder) !== 'node_modules')
      .map((folder) => join(folder, 'node_modules'))
    for (const folder of [root, ...searched]) folders.add(folder)
    const found = dependenciesOf(root).map((name) => find(name, searched))
    // A package inside a listed folder finds its dependencies there too.
    for (const path of found) if (path !== undefined && !isCovered(path)) add(path)
  }
  add(packageRoot(realpathSync.native(entry)))
  return [...folders]
}

/** The last folders that `require` searches, such as ~/.node_modules. */
const { globalPaths } = Module as unknown as { readonly globalPaths: readonly string[] }

/** The folder and all its ancestors. */
function foldersAbove(path: string): readonly string[] {
  const above = dirname(path)
  return above === path ? [path] : [path, ...foldersAbove(above)]
}

const packageRoot = (file: string): string =>
  foldersAbove(dirname(file)).find((folder) => realOf(join(folder, 'package.json')) !== undefined) ?? dirname(file)

function dependenciesOf(root: string): readonly string[] {
  const text = textOf(join(root, 'package.json')) ?? '{}'
  const manifest = JSON.parse(text) as Partial<Record<(typeof DEPENDENCIES)[number], Readonly<Record<string, string>>>>
  return DEPENDENCIES.flatMap((field) => Object.keys(manifest[field] ?? {}))
}

function find(name: string, searched: readonly string[]): string | undefined {
  for (const folder of searched) {
    const found = realOf(join(folder, name))
    if (found !== undefined) return found
  }
  return undefined
}

const realOf = (path: string): string | undefined => orNothing(() => realpathSync.native(path))
const textOf = (file: string): string | undefined => orNothing(() => readFileSync(file, 'utf8'))

/** undefined for what throws, such as a file that cannot be read. */
function orNothing<Found>(look: () => Found): Found | undefined {
  try {
    return look()
  } catch {
    return undefined
  }
}
