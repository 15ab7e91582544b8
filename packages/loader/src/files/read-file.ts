import { hash } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs'
import { messageOf } from '@bulkhead/kit/error-message'
import { stampOf, type Stamp } from './stamp.ts'

export type FileProblem = 'missing' | 'link' | 'special' | 'too-large' | 'changed' | 'unreadable'
interface Unread {
  readonly ok: false
  readonly problem: FileProblem
  readonly message: string
}
export type FileRead = { readonly ok: true; readonly bytes: Uint8Array<ArrayBuffer>; readonly stamp: Stamp } | Unread
export type FileDigest = { readonly ok: true; readonly digest: string; readonly size: number; readonly stamp: Stamp } | Unread

export interface ReadOptions {
  readonly maxBytes: number
  /** Whether a link in the last place of the path is followed. Only for what the operator keeps at home. */
  readonly followLinks?: boolean
}

// NONBLOCK: opening a pipe must not wait for a writer. Both are missing on Windows.
const NONBLOCK = constants.O_NONBLOCK ?? 0
const NOFOLLOW = constants.O_NOFOLLOW ?? 0

/** Reads a regular file whole, as it was when it was opened. Contract: never throws and never waits for another process. */
export const readRegularFile = (path: string, options: ReadOptions): FileRead =>
  withOpen(path, options, (descriptor) => readDescriptor(descriptor, options.maxBytes))

/** Small enough to stay in the processor's cache between reading and hashing. */
const SCRATCH_BYTES = 256 * 1024

/** Hashes files one after the other in memory that it uses again, since most bytes are not needed any more once hashed. */
export class FileHasher {
  #scratch = new Uint8Array(SCRATCH_BYTES)

  /** sha512 of a regular file, read as `readRegularFile` does. */
  digest(path: string, options: ReadOptions): FileDigest {
    return withOpen(path, options, (descriptor): FileDigest => {
      const stat = fstatSync(descriptor)
      const unfit = findUnfit(stat, options.maxBytes)
      if (unfit !== undefined) return unfit
      // One more than there should be: that it stays empty says that the file has not grown.
      if (this.#scratch.length <= stat.size) this.#scratch = new Uint8Array(stat.size + SCRATCH_BYTES)
      const length = fill(descriptor, this.#scratch.subarray(0, stat.size + 1))
      if (length !== stat.size) return changed(length, stat.size)
      return { ok: true, digest: hash('sha512', this.#scratch.subarray(0, length), 'hex'), size: length, stamp: stampOf(stat) }
    })
  }
}

/** The same from a file that is open already. Throws what the system throws. */
export function readDescriptor(descriptor: number, maxBytes: number): FileRead {
  const stat = fstatSync(descriptor)
  const unfit = findUnfit(stat, maxBytes)
  if (unfit !== undefined) return unfit
  const bytes = new Uint8Array(stat.size)
  const length = fill(descriptor, bytes) + readSync(descriptor, new Uint8Array(1), 0, 1, null)
  return length === stat.size ? { ok: true, bytes, stamp: stampOf(stat) } : changed(length, stat.size)
}

/** Reads until the file or the room ends. */
function fill(descriptor: number, room: Uint8Array): number {
  let length = 0
  for (;;) {
    const read = readSync(descriptor, room, length, room.length - length, null)
    length += read
    if (read === 0 || length === room.length) return length
  }
}

function withOpen<T>(path: string, { followLinks }: ReadOptions, use: (descriptor: number) => T | Unread): T | Unread {
  let descriptor: number
  try {
    descriptor = openSync(path, constants.O_RDONLY | NONBLOCK | (followLinks ? 0 : NOFOLLOW))
  } catch (error) {
    return failedOpen(error)
  }
  try {
    return use(descriptor)
  } catch (error) {
    return problem('unreadable', `cannot be read: ${messageOf(error)}`)
  } finally {
    closeSync(descriptor)
  }
}

function findUnfit(stat: { readonly size: number; isFile(): boolean }, maxBytes: number): Unread | undefined {
  if (!stat.isFile()) return problem('special', 'is not a plain file')
  return stat.size > maxBytes ? problem('too-large', `has ${stat.size} bytes; ${maxBytes} are allowed`) : undefined
}

function failedOpen(error: unknown): Unread {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return problem('missing', 'does not exist')
  if (code === 'ELOOP' || code === 'EMLINK') return problem('link', 'is a link')
  if (code === 'ENXIO') return problem('special', 'is not a plain file')
  return problem('unreadable', `cannot be opened: ${messageOf(error)}`)
}

const changed = (length: number, expected: number): Unread =>
  problem('changed', `became ${length < expected ? 'shorter' : 'longer'} while it was read`)
const problem = (kind: FileProblem, message: string): Unread => ({ ok: false, problem: kind, message })

/** Why a file of the operator's own is not believed, in words that go on after its name: who can write it can speak for them. */
export function findOwnershipFault({ mode, uid }: Stats): string | undefined {
  const self = process.geteuid?.()
  if (self === undefined) return undefined
  if (uid !== self) return 'belongs to somebody else'
  return (mode & 0o022) === 0 ? undefined : 'can be written by others; take that right away with chmod go-w'
}
