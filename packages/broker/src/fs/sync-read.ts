import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, readSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { liesIn } from './paths.ts'

export interface ByteRange {
  readonly start?: number
  readonly end?: number
}

/** A path that the grant covers as written. It is not yet known whether it contains links. */
export interface UnverifiedFile {
  readonly path: string
  /** The resolved root of the grant that contains it. */
  readonly root: string
}

/** A larger read may have to wait for the disk. */
const MAX_BYTES = 256 * 1024
/**
 * A descriptor that identifies a file without opening it. Node lacks the constant; Linux has one value for all
 * platforms of Node.
 */
const O_PATH = 0o10000000
const NAMED = O_PATH | (constants.O_NOFOLLOW ?? 0)
const READ = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0)

/** Filled and consumed synchronously, so one buffer is enough. */
const scratch = Buffer.alloc(MAX_BYTES)

/**
 * Reads a regular file, or a range of it, synchronously: on a local disk the thread pool takes ten times as long as
 * each step. The path that the kernel reports for the descriptor is verified before the file is opened. The bytes are
 * valid only while `take` runs. Contract: undefined if anything is unexpected; the asynchronous way then reports the
 * error.
 */
export function readSmallFile<T>(file: UnverifiedFile, range: ByteRange, take: (bytes: Buffer) => T): T | undefined {
  const length = fillScratch(file, range)
  return length === undefined ? undefined : take(scratch.subarray(0, length))
}

function fillScratch(file: UnverifiedFile, range: ByteRange): number | undefined {
  const held: number[] = []
  const open = (path: string, flags: number): number => {
    const fd = openSync(path, flags)
    held.push(fd)
    return fd
  }
  try {
    if (!hasNoLinks(file)) return undefined
    const named = open(file.path, NAMED)
    const anchor = `/proc/self/fd/${named}`
    const found = fstatSync(named)
    if (!found.isFile() || readlinkSync(anchor) !== file.path) return undefined
    const { start = 0, end = found.size } = range
    const length = Math.max(0, Math.min(end, found.size) - start)
    return length > MAX_BYTES ? undefined : fill(open(anchor, READ), start, length)
  } catch {
    return undefined
  } finally {
    held.forEach(closeSync)
  }
}

/** open() would follow a link on the way before the check, possibly to a slow mount. */
function hasNoLinks({ path, root }: UnverifiedFile): boolean {
  for (let end = path.indexOf('/', root.length + 1); end >= 0; end = path.indexOf('/', end + 1)) {
    if (!lstatSync(path.slice(0, end)).isDirectory()) return false
  }
  return true
}

function fill(fd: number, start: number, length: number): number {
  for (let filled = 0; filled < length;) {
    const count = readSync(fd, scratch, filled, length - filled, start + filled)
    if (count === 0) return filled
    filled += count
  }
  return length
}

/**
 * File systems on a local disk or in memory. All others, such as network and FUSE mounts, may block forever.
 */
const FAST: ReadonlySet<string> = new Set([
  'ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'f2fs', 'zfs', 'bcachefs', 'tmpfs', 'ramfs', 'overlay', 'squashfs', 'erofs',
])

/** The mount table is read again after this time. */
const FRESH_MS = 1_000
/** A slower read means that the disk spins up or is overloaded. */
const SLOW_READ_MS = 100
/** After a slow read everything counts as slow for this time. */
const PENALTY_MS = 10_000

const EVERYTHING: readonly string[] = ['/']

/** The slow mounts of this Linux system. As long as they are unknown, every path counts as slow. */
export class SlowMounts {
  readonly #table: string
  #folders = EVERYTHING
  #readAt = -Infinity
  #penaltyEnds = -Infinity
  #reading: Promise<void> | undefined

  constructor(table = '/proc/self/mountinfo') {
    this.#table = table
  }

  /** Whether a resolved path is on a slow mount. */
  has(path: string): boolean {
    const now = performance.now()
    if (now - this.#readAt > FRESH_MS) void this.read()
    return now < this.#penaltyEnds || this.#folders.some((folder) => liesIn(path, folder))
  }

  /** Records how long a read from a fast mount took, in ms. */
  record(ms: number): void {
    if (ms > SLOW_READ_MS) this.#penaltyEnds = performance.now() + PENALTY_MS
  }

  /** Contract: never rejects. */
  read(): Promise<void> {
    this.#reading ??= readFile(this.#table, 'utf8').then(slowMountsIn, () => EVERYTHING).then((folders) => {
      this.#folders = folders
      this.#readAt = performance.now()
      this.#reading = undefined
    })
    return this.#reading
  }
}

/** Parses proc_pid_mountinfo(5): the fifth word is the folder, the first after ` - ` the file system type. */
export function slowMountsIn(table: string): readonly string[] {
  const folders = table.trimEnd().split('\n').flatMap((line) => {
    const [folder, kind] = [line.split(' ')[4], line.split(' - ')[1]?.split(' ')[0]]
    if (folder === undefined || kind === undefined) return EVERYTHING
    return FAST.has(kind) ? [] : [unescaped(folder)]
  })
  return folders.filter((folder) => !folders.some((above) => above !== folder && liesIn(folder, above)))
}

const unescaped = (folder: string): string =>
  folder.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))

export const slowMounts = new SlowMounts()
