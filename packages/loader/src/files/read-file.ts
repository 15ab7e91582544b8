import { hash } from 'node:crypto'
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, type Stats } from 'node:fs'
import { messageOf } from '@bulkhead/kit/error-message'
import { isAbsent } from '@bulkhead/kit/folders'

export type FileProblem = 'missing' | 'link' | 'special' | 'too-large' | 'changed' | 'unreadable'
interface Unread {
  readonly ok: false
  readonly problem: FileProblem
  readonly message: string
}
export type FileRead = { readonly ok: true; readonly bytes: Uint8Array<ArrayBuffer>; readonly stamp: Stamp } | Unread
export type FileDigest =
  | { readonly ok: true; readonly digest: string; readonly size: number; readonly stamp: Stamp }
  | Unread

export interface ReadOptions {
  readonly maxBytes: number
  /** Whether to follow a symbolic link at the path. Only for files of the operator. */
  readonly followLinks?: boolean
}

// NONBLOCK: opening a pipe must not wait for a writer. Windows has neither flag.
const NONBLOCK = constants.O_NONBLOCK ?? 0
const NOFOLLOW = constants.O_NOFOLLOW ?? 0

/** Reads a whole regular file. Contract: never throws, and never waits for another process. */
export const readRegularFile = (path: string, options: ReadOptions): FileRead =>
  withOpen(path, options, (descriptor) => readDescriptor(descriptor, options.maxBytes))

/** Small enough to stay in the CPU cache between reading and hashing. */
const SCRATCH_BYTES = 256 * 1024

/** Hashes files into a reused buffer, since most bytes are not needed afterwards. */
export class FileHasher {
  #scratch = new Uint8Array(SCRATCH_BYTES)

  /** The sha512 of a regular file, under the contract of `readRegularFile`. */
  digest(path: string, options: ReadOptions): FileDigest {
    return withOpen(path, options, (descriptor): FileDigest => {
      const stat = fstatSync(descriptor)
      const found = findProblem(stat, options.maxBytes)
      if (found !== undefined) return found
      // One byte more than expected shows whether the file has grown.
      if (this.#scratch.length <= stat.size) this.#scratch = new Uint8Array(stat.size + SCRATCH_BYTES)
      const length = fill(descriptor, this.#scratch.subarray(0, stat.size + 1))
      if (length !== stat.size) return changed(length, stat.size)
      return {
        ok: true, digest: hash('sha512', this.#scratch.subarray(0, length), 'hex'), size: length, stamp: stampOf(stat),
      }
    })
  }
}

/** Reads an open file. Throws system errors. */
export function readDescriptor(descriptor: number, maxBytes: number): FileRead {
  const stat = fstatSync(descriptor)
  const found = findProblem(stat, maxBytes)
  if (found !== undefined) return found
  const bytes = new Uint8Array(stat.size)
  const length = fill(descriptor, bytes) + readSync(descriptor, new Uint8Array(1), 0, 1, null)
  return length === stat.size ? { ok: true, bytes, stamp: stampOf(stat) } : changed(length, stat.size)
}

/** Reads until the file or the buffer ends. */
function fill(descriptor: number, buffer: Uint8Array): number {
  let length = 0
  for (;;) {
    const read = readSync(descriptor, buffer, length, buffer.length - length, null)
    length += read
    if (read === 0 || length === buffer.length) return length
  }
}

function withOpen<T>(path: string, { followLinks }: ReadOptions, use: (descriptor: number) => T | Unread): T | Unread {
  let descriptor: number
  try {
    descriptor = openSync(path, constants.O_RDONLY | NONBLOCK | (followLinks ? 0 : NOFOLLOW))
  } catch (error) {
    return failedOpen(path, error)
  }
  try {
    return use(descriptor)
  } catch (error) {
    return problem('unreadable', `cannot be read: ${messageOf(error)}`)
  } finally {
    closeSync(descriptor)
  }
}

function findProblem(stat: { readonly size: number; isFile(): boolean }, maxBytes: number): Unread | undefined {
  if (!stat.isFile()) return problem('special', 'is not a regular file')
  return stat.size > maxBytes ? problem('too-large', `has ${stat.size} bytes; ${maxBytes} are allowed`) : undefined
}

/** Continues a sentence. */
export const LEADS_NOWHERE = 'is a link that leads nowhere, or is below one'

function failedOpen(path: string, error: unknown): Unread {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') {
    return isAbsent(path) ? problem('missing', 'does not exist') : problem('link', LEADS_NOWHERE)
  }
  if (code === 'ELOOP' || code === 'EMLINK') return problem('link', 'is a link')
  if (code === 'ENXIO') return problem('special', 'is not a regular file')
  return problem('unreadable', `cannot be opened: ${messageOf(error)}`)
}

const changed = (length: number, expected: number): Unread =>
  problem('changed', `became ${length < expected ? 'shorter' : 'longer'} while it was read`)
const problem = (kind: FileProblem, message: string): Unread => ({ ok: false, problem: kind, message })

/** Why a file is not trusted as the operator's own, or undefined: another user could have written it. */
export function findOwnershipFault({ mode, uid }: Stats): string | undefined {
  const self = process.geteuid?.()
  if (self === undefined) return undefined
  if (uid !== self) return 'belongs to another user'
  return (mode & 0o022) === 0 ? undefined : 'is writable by other users; run chmod go-w on it'
}

/**
 * Identifies the content of a file or folder. Programs cannot set the ctime, so equal stamps mean equal content unless
 * they are recent.
 */
export type Stamp = readonly [size: number, mtimeMs: number, ctimeMs: number, ino: number]

export const stampOf = ({ size, mtimeMs, ctimeMs, ino }: Stats): Stamp => [size, mtimeMs, ctimeMs, ino]

const QUIETLY = { throwIfNoEntry: false } as const
const { S_IFMT, S_IFREG, S_IFDIR } = constants
const TYPES = { file: S_IFREG, folder: S_IFDIR } as const

/** Whether the path is of this kind and has the stamp at `from`. Contract: never throws. */
export function hasStamp(path: string, kind: 'file' | 'folder', stamps: Float64Array, from: number): boolean {
  try {
    const stat = lstatSync(path, QUIETLY)
    if (stat === undefined || (stat.mode & S_IFMT) !== TYPES[kind]) return false
    return stat.size === stamps[from] && stat.mtimeMs === stamps[from + 1] && stat.ctimeMs === stamps[from + 2]
      && stat.ino === stamps[from + 3]
  } catch {
    return false
  }
}

/** The resolution of file system clocks: a change within the same tick does not change the stamp. */
const TICK_MS = 50
const WHOLE_SECONDS_TICK_MS = 2_500

/** Whether a change after `now` changes the stamp. */
export function isSettled([, mtimeMs, ctimeMs]: Stamp, now: number): boolean {
  const tick = ctimeMs % 1_000 === 0 ? WHOLE_SECONDS_TICK_MS : TICK_MS
  return Math.max(mtimeMs, ctimeMs) + tick < now
}
