import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, readSync } from 'node:fs'
import type { Range } from './read-file.ts'

/** A path that a grant covers as it is written. Whether it leads where it seems to has not been asked yet. */
export interface PresumedFile {
  readonly path: string
  /** The folder of the grant it lies in, which is real. */
  readonly root: string
}

/** For more than this a disk may have to be waited for. */
const MAX_BYTES = 256 * 1024
/** Stands for a file without opening it. Node has no name for it; the number is that of Linux wherever Node runs on it. */
const O_PATH = 0o10000000
const NAMED = O_PATH | (constants.O_NOFOLLOW ?? 0)
const READ = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0)

/** Filled and taken from without a wait in between, so that one is enough. */
const scratch = Buffer.alloc(MAX_BYTES)

/**
 * What a regular file holds, or a part of it, in the thread that asks: on a disk that keeps nobody, to go to a thread of the
 * pool and back takes ten times as long as each of the steps. What was found is proved by the path that the system has for
 * its descriptor before it is opened. The bytes are lent while `take` runs.
 * Contract: undefined for all that is not as presumed; the way that waits tells what it is.
 */
export function readNearFile<T>(file: PresumedFile, range: Range, take: (bytes: Buffer) => T): T | undefined {
  const length = fillScratch(file, range)
  return length === undefined ? undefined : take(scratch.subarray(0, length))
}

function fillScratch(file: PresumedFile, range: Range): number | undefined {
  const held: number[] = []
  const open = (path: string, flags: number): number => {
    const fd = openSync(path, flags)
    held.push(fd)
    return fd
  }
  try {
    if (!leadsStraight(file)) return undefined
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

/** A link on the way would be followed before anything is proved, maybe to where it is far. */
function leadsStraight({ path, root }: PresumedFile): boolean {
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
