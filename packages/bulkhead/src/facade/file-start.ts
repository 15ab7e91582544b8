import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isWithin } from '@bulkhead/kit/programs'

/** Settings of a project that name hosts are short. */
const START_BYTES = 64 * 1024

/**
 * The beginning of a file in the workspace, by its relative path. undefined if it is no readable file, or if a link
 * leads out. It names what a question proposes, so a wrong answer grants nothing.
 */
export function fileStart(workspace: string, path: string): string | undefined {
  let opened: number | undefined
  try {
    const folder = realpathSync.native(dirname(join(workspace, path)))
    if (!isWithin(folder, workspace)) return undefined
    // A pipe would block this thread.
    const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = constants
    opened = openSync(join(folder, basename(path)), O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
    if (!fstatSync(opened).isFile()) return undefined
    const bytes = Buffer.alloc(START_BYTES)
    return bytes.toString('utf8', 0, readSync(opened, bytes, 0, START_BYTES, 0))
  } catch {
    return undefined
  } finally {
    if (opened !== undefined) closeSync(opened)
  }
}
