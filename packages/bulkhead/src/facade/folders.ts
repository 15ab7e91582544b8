import { realpath } from 'node:fs/promises'
import { homedir, userInfo } from 'node:os'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'

/** The folder of the global layer. */
export const homeFolder = (home: string | undefined): string => resolve(home ?? join(personFolder(), '.bulkhead'))

/** Always absolute: with an empty or relative HOME, user files would be read from the current project. */
function personFolder(): string {
  const named = homedir()
  return isAbsolute(named) ? named : userInfo().homedir
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
 * Canonical paths of the home folder and of the compile cache. Tools may not access them, because their content
 * configures the host or runs as the user. The folders need not exist.
 */
export const keptFolders = (home: string): Promise<readonly string[]> =>
  Promise.all([home, userCacheFolder()].map(canonicalPath))

async function canonicalPath(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    const above = dirname(path)
    return above === path ? path : join(await canonicalPath(above), basename(path))
  }
}

/** The database of the command line: state, approvals and the audit. */
export const storeFile = (home: string | undefined): string => join(homeFolder(home), 'bulkhead.db')
