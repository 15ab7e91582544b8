import { mkdtempSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'

/** Replaces a file atomically: a full disk must not leave a partial file. Keeps its permissions. */
export function replaceFile(path: string, content: string | Uint8Array): void {
  const temporary = `${path}.${crypto.randomUUID()}.tmp`
  try {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode
    writeFileSync(temporary, content, { flag: 'wx', ...(mode !== undefined && { mode: mode & 0o777 }) })
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

/** Runs `work`, which writes to `path`. Throws InstallFailed, or an error of Bulkhead that `work` throws. */
export function writing(path: string, work: () => void): void {
  try {
    work()
  } catch (error) {
    if (BulkheadError.is(error)) throw error
    throw new BulkheadError('InstallFailed', `"${path}" could not be written: ${messageOf(error)}`, { cause: error })
  }
}

/** A new folder. The caller removes it. Throws InstallFailed. */
export function temporaryFolder(prefix: string): string {
  try {
    return realpathSync(mkdtempSync(join(tmpdir(), prefix)))
  } catch (error) {
    const message = `Cannot create a temporary folder: ${messageOf(error)}. Set TMPDIR to a writable folder.`
    throw new BulkheadError('InstallFailed', message, { cause: error })
  }
}
