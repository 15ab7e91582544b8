import { closeSync, constants, fstatSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { errorCode } from './error-message.ts'

const OWNER_ONLY = 0o600

/** Other users can read or replace the file. */
export class ExposedFileError extends Error {
  override readonly name = 'ExposedFileError'
}

/**
 * Reads a file with secrets. undefined if there is none. Throws ExposedFileError if other users can access it, and the
 * system's error if it cannot be read or is a link.
 */
export function readPrivateFile(file: string): string | undefined {
  let descriptor: number
  try {
    descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
  try {
    const { mode, uid } = fstatSync(descriptor)
    const isExposed = process.platform !== 'win32' && ((mode & 0o077) !== 0 || uid !== process.getuid?.())
    if (isExposed) throw new ExposedFileError(`Other users can access ${file}.`)
    return readFileSync(descriptor, 'utf8')
  } finally {
    closeSync(descriptor)
  }
}

/** Replaces a file atomically. Only this user can read it. Throws the system's error and leaves the old file then. */
export function writePrivateFile(file: string, text: string): void {
  const draft = `${file}.${crypto.randomUUID()}.tmp`
  try {
    writeFileSync(draft, text, { mode: OWNER_ONLY, flag: 'wx' })
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}
