import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { messageOf } from '@bulkhead/contract'

export type FileProblem = 'missing' | 'link' | 'special' | 'too-large' | 'changed' | 'unreadable'
export type FileRead =
  | { readonly ok: true; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly ok: false; readonly problem: FileProblem; readonly message: string }

export interface ReadOptions {
  readonly maxBytes: number
  /** Whether a link in the last place of the path is followed. Only for what the operator keeps at home. */
  readonly followLinks?: boolean
}

// NONBLOCK: opening a pipe must not wait for a writer. Both are missing on Windows.
const NONBLOCK = constants.O_NONBLOCK ?? 0
const NOFOLLOW = constants.O_NOFOLLOW ?? 0

/** Reads a regular file whole, as it was when it was opened. Contract: never throws and never waits for another process. */
export function readRegularFile(path: string, options: ReadOptions): FileRead {
  let descriptor: number
  try {
    descriptor = openSync(path, constants.O_RDONLY | NONBLOCK | (options.followLinks ? 0 : NOFOLLOW))
  } catch (error) {
    return failedOpen(error)
  }
  try {
    return readDescriptor(descriptor, options.maxBytes)
  } catch (error) {
    return problem('unreadable', `cannot be read: ${messageOf(error)}`)
  } finally {
    closeSync(descriptor)
  }
}

/** The same from a file that is open already. Throws what the system throws. */
export function readDescriptor(descriptor: number, maxBytes: number): FileRead {
  const stat = fstatSync(descriptor)
  if (!stat.isFile()) return problem('special', 'is not a plain file')
  if (stat.size > maxBytes) return problem('too-large', `has ${stat.size} bytes; ${maxBytes} are allowed`)
  const bytes = new Uint8Array(stat.size)
  let length = 0
  while (length < bytes.length) {
    const read = readSync(descriptor, bytes, length, bytes.length - length, null)
    if (read === 0) return problem('changed', 'became shorter while it was read')
    length += read
  }
  if (readSync(descriptor, new Uint8Array(1), 0, 1, null) > 0) return problem('changed', 'became longer while it was read')
  return { ok: true, bytes }
}

function failedOpen(error: unknown): FileRead {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return problem('missing', 'does not exist')
  if (code === 'ELOOP' || code === 'EMLINK') return problem('link', 'is a link')
  if (code === 'ENXIO') return problem('special', 'is not a plain file')
  return problem('unreadable', `cannot be opened: ${messageOf(error)}`)
}

const problem = (kind: FileProblem, message: string): FileRead => ({ ok: false, problem: kind, message })
