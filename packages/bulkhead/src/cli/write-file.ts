import { mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'

/** Replaces a file atomically: a full disk must not leave a partial file. */
export function replaceFile(path: string, content: string | Uint8Array): void {
  const temporary = `${path}.${crypto.randomUUID()}.tmp`
  try {
    writeFileSync(temporary, content, { flag: 'wx' })
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

/** Runs `work`, which writes to `path`. Throws InstallFailed. */
export function writing(path: string, work: () => void): void {
  try {
    work()
  } catch (error) {
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
