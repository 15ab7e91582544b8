import { realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { userCacheFolder } from './user-cache.ts'

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
