import { realpath } from 'node:fs/promises'
import { homedir, userInfo } from 'node:os'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'

/** The folder of the global layer. */
export const homeFolder = (home: string | undefined): string => resolve(home ?? join(personFolder(), '.bulkhead'))

/** What belongs to a person is not looked for in the project one stands in, even where HOME is empty or a relative path. */
export function personFolder(): string {
  const named = homedir()
  return isAbsolute(named) ? named : userInfo().homedir
}

/** Whose account this process runs in. A system need not have a name for it, as in many containers. */
export function accountName(): string {
  try {
    return userInfo().username || 'unknown'
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

/** Where this system keeps what a user's programs can make again. A relative path would lead into whatever project one stands in. */
export function userCacheFolder(env: NodeJS.ProcessEnv = process.env, platform: NodeJS.Platform = process.platform): string {
  const { XDG_CACHE_HOME: chosen = '', LOCALAPPDATA: local = '' } = env
  if (isAbsolute(chosen)) return join(chosen, 'bulkhead')
  if (platform === 'win32' && isAbsolute(local)) return join(local, 'bulkhead', 'cache')
  return join(personFolder(), platform === 'darwin' ? 'Library/Caches' : '.cache', 'bulkhead')
}

/**
 * The folders a host goes by, canonical: its home, and where the command keeps its compiled code. What a tool wrote there would
 * speak, or run, as the operator, so no tool reaches into them. They need not be there yet.
 */
export const keptFolders = (home: string): Promise<readonly string[]> => Promise.all([home, userCacheFolder()].map(canonicalPath))

async function canonicalPath(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    const above = dirname(path)
    return above === path ? path : join(await canonicalPath(above), basename(path))
  }
}

/** Where the command line remembers: state, approvals and the audit. */
export const storeFile = (home: string | undefined): string => join(homeFolder(home), 'bulkhead.db')

const REASONS: ReadonlyMap<unknown, string> = new Map([
  ['ENOENT', 'does not exist'], ['ENOTDIR', 'is not a folder'], ['EACCES', 'may not be opened by this user'],
  ['ELOOP', 'is a circle of links'],
])

/** Why a workspace cannot be worked in, in words. */
export function workspaceFault(path: string, error: unknown): BulkheadError {
  const why = REASONS.get((error as { readonly code?: unknown } | undefined)?.code) ?? `cannot be opened: ${messageOf(error)}`
  return new BulkheadError('ProjectPathInvalid', `The workspace "${path}" ${why}.`, { cause: error })
}
