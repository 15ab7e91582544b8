import { lstatSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** A path with its links followed, as far as it exists. Throws where it cannot be looked at. */
export function realPathOf(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // What is written to a link that leads nowhere yet is made where it leads.
    if (code !== 'ENOENT' || dirname(path) === path || lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) throw error
    return join(realPathOf(dirname(path)), basename(path))
  }
}
