import { mkdtemp, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { isResourceShortage } from '@bulkhead/kit/processes'
import { startError } from './spawn.ts'

/** The first that works is used. */
const parents = (): readonly string[] =>
  [...new Set([tmpdir(), process.env['XDG_RUNTIME_DIR'], '/tmp', '/var/tmp', '/dev/shm'])]
    .filter((folder) => folder !== undefined)

/**
 * A new folder that only this user can reach, canonical. `what`: what it is for, in a message. Contract: rejects with
 * ResourceBusy, or with ToolExecutionFailed if no folder is writable.
 */
export async function temporaryFolder(prefix: string, what: string): Promise<string> {
  const folders = parents()
  let first: unknown
  for (const parent of folders) {
    try {
      return await realpath(await mkdtemp(join(parent, prefix)))
    } catch (error) {
      if (isResourceShortage(error)) throw startError(error)
      first ??= error
    }
  }
  const why = (first as NodeJS.ErrnoException).code ?? 'unknown'
  const message = `${what} was not created: none of the folders ${folders.join(', ')} is writable (${why}). `
    + 'Set TMPDIR to a writable folder.'
  throw new BulkheadError('ToolExecutionFailed', message, { cause: first, data: { folders: [...folders] } })
}
