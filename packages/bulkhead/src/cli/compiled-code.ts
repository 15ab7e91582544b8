import { existsSync, mkdirSync, statSync } from 'node:fs'
import { enableCompileCache, getCompileCacheDir } from 'node:module'
import { dirname, join } from 'node:path'
import { userCacheFolder } from '../facade/folders.ts'

/**
 * From here on Node keeps what it compiles, and what it strips of types, in a folder of the user's: the next command starts in
 * half the time. Whoever can write there runs code as this user, so it is used only where nobody else can. Node's own variables
 * go before it. Contract: never throws; without the folder commands start as they did.
 */
export function keepCompiledCode(folder = userCacheFolder()): void {
  if (getCompileCacheDir() !== undefined || process.env['NODE_DISABLE_COMPILE_CACHE']) return
  try {
    const code = join(folder, 'code')
    // Step by step: where folders cannot be made, as below /proc, Node would try for ever to make all at once.
    for (const path of [dirname(folder), folder, code]) if (!existsSync(path)) mkdirSync(path, { mode: 0o700 })
    if (isOnlyOurs(folder) && isOnlyOurs(code)) enableCompileCache(code)
  } catch {
    // A user without a home, or one that cannot be written to.
  }
}

/** Systems without such numbers keep a user's folders to the user by themselves. */
function isOnlyOurs(folder: string): boolean {
  const { uid, mode } = statSync(folder)
  const self = process.getuid?.()
  return self === undefined || (uid === self && (mode & 0o022) === 0)
}
