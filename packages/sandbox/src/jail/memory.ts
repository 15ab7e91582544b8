import { readFileSync, readlinkSync, statfsSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { namesIn } from '@bulkhead/kit/folders'

/** Memory of processes. Pages of files on a disk do not count: the system can take them back. */
export interface MemoryUse {
  readonly ownKb: number
  /** Shared memory that is mapped: of other processes, or files in memory. */
  readonly sharedKb: number
}

export const sumOf = (uses: readonly MemoryUse[]): MemoryUse => uses.reduce((sum, { ownKb, sharedKb }) =>
  ({ ownKb: sum.ownKb + ownKb, sharedKb: sum.sharedKb + sharedKb }), { ownKb: 0, sharedKb: 0 })

/** Shared memory that is both mapped and kept counts once, so the larger number is taken. */
export const totalKb = ({ ownKb, sharedKb }: MemoryUse, keptKb: number): number => ownKb + Math.max(sharedKb, keptKb)

/** What a process has mapped. What it shares is counted in full. */
export function residentOf(pid: string): MemoryUse {
  const status = textOf(`/proc/${pid}/status`)
  return { ownKb: kbOf(status, /^RssAnon:\s+(\d+) kB$/m) ?? 0, sharedKb: kbOf(status, /^RssShmem:\s+(\d+) kB$/m) ?? 0 }
}

/** The same, with its share of what it shares. In the thread pool, because the kernel looks at every page. */
export async function mappedOf(pids: readonly string[]): Promise<readonly MemoryUse[]> {
  const uses: MemoryUse[] = []
  for (const pid of pids) {
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1').catch(() => '')
    const [ownKb, sharedKb] = [kbOf(rollup, /^Pss_Anon:\s+(\d+) kB$/m), kbOf(rollup, /^Pss_Shmem:\s+(\d+) kB$/m)]
    // Older kernels do not have these, and a process that has just ended has nothing.
    uses.push(ownKb === undefined || sharedKb === undefined ? residentOf(pid) : { ownKb, sharedKb })
  }
  return uses
}

/** Descriptors that one check looks at. Each costs some microseconds of the host's thread. */
const DESCRIPTORS = 4_096
const TMPFS = 0x01021994
const BLOCK = 512
const KB = 1024

/** Memory that is kept by descriptors and in private folders, mapped or not. */
export const keptKb = (pids: readonly string[], folders: readonly string[]): number =>
  (memoryFiles(pids) + privateFolders(pids, folders)) / KB

/** Bytes of files without a name (`memfd_create`), each once. */
function memoryFiles(pids: readonly string[]): number {
  const sizes = new Map<number, number>()
  let left = DESCRIPTORS
  for (const pid of pids) {
    for (const name of namesIn(`/proc/${pid}/fd`).slice(0, left)) {
      left--
      const file = `/proc/${pid}/fd/${name}`
      if (tried(() => readlinkSync(file))?.startsWith('/memfd:') !== true) continue
      const found = tried(() => statSync(file))
      if (found) sizes.set(found.ino, found.blocks * BLOCK)
    }
  }
  return sizes.values().reduce((sum, size) => sum + size, 0)
}

/** Bytes in the folders, as the first process that has mounts of its own sees them. */
function privateFolders(pids: readonly string[], folders: readonly string[]): number {
  const own = tried(() => readlinkSync('/proc/self/ns/mnt'))
  const inside = pids.find((pid) => {
    const mounts = tried(() => readlinkSync(`/proc/${pid}/ns/mnt`))
    return mounts !== undefined && mounts !== own
  })
  if (inside === undefined) return 0
  return folders.reduce((sum, folder) => {
    const seen = `/proc/${inside}/root${folder}`
    // A granted folder of the host in this place belongs to the host.
    if (tried(() => statSync(seen).dev) === tried(() => statSync(folder).dev)) return sum
    const found = tried(() => statfsSync(seen))
    return found?.type === TMPFS ? sum + (found.blocks - found.bfree) * found.bsize : sum
  }, 0)
}

const kbOf = (text: string, field: RegExp): number | undefined => {
  const value = field.exec(text)?.[1]
  return value === undefined ? undefined : Number(value)
}

const textOf = (file: string): string => tried(() => readFileSync(file, 'latin1')) ?? ''

/** undefined if the process is gone. */
function tried<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
