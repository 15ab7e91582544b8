import { isAbsolute, join } from 'node:path'
import { personFolder } from './home-folder.ts'

/** Where this system keeps what a user's programs can make again. A relative path would lead into whatever project one stands in. */
export function userCacheFolder(env: NodeJS.ProcessEnv = process.env, platform: NodeJS.Platform = process.platform): string {
  const { XDG_CACHE_HOME: chosen = '', LOCALAPPDATA: local = '' } = env
  if (isAbsolute(chosen)) return join(chosen, 'bulkhead')
  if (platform === 'win32' && isAbsolute(local)) return join(local, 'bulkhead', 'cache')
  return join(personFolder(), platform === 'darwin' ? 'Library/Caches' : '.cache', 'bulkhead')
}
