import { processTree } from '@bulkhead/kit/process-tree'
import { keptKb, mappedOf, residentOf, sumOf, totalKb } from './memory.ts'

export interface TreeLimits {
  /** Processes and threads together. */
  readonly tasks: number
  /** Memory that can only be freed by the processes: their own, shared memory, and files in memory. */
  readonly memoryMb: number
}

/** The kernel checks limits of one process. This checks the sum, twice a second. */
const EVERY_MS = 500
const KB = 1024

/**
 * Watches a process and all its descendants. Calls `exceeded` once, with what was exceeded. Returns a function that
 * stops it. Where the system does not list children, only the first process is counted. `folders`: those in memory that
 * only these processes see.
 */
export function watchTree(
  pid: number, limits: TreeLimits, folders: readonly string[], exceeded: (what: string) => void,
): () => void {
  let isChecking = false
  let isStopped = false
  const check = async (): Promise<void> => {
    if (isChecking) return
    isChecking = true
    const what = await excessOf(pid, limits, folders)
    isChecking = false
    if (what === undefined || isStopped) return
    stop()
    exceeded(what)
  }
  const timer = setInterval(() => void check(), EVERY_MS).unref()
  const stop = (): void => {
    isStopped = true
    clearInterval(timer)
  }
  return stop
}

/** What is exceeded; undefined if nothing is. Never rejects. */
export async function excessOf(
  root: number, { tasks, memoryMb }: TreeLimits, folders: readonly string[],
): Promise<string | undefined> {
  const pids = processTree(root, tasks)
  if (pids === undefined) return `more than ${tasks} processes and threads`
  const kept = keptKb(pids, folders)
  const exceeds = (own: Parameters<typeof totalKb>[0]) => totalKb(own, kept) > memoryMb * KB
  // What several processes share is counted for each of them, so this may be too much. The exact number takes longer.
  const isLikely = exceeds(sumOf(pids.map(residentOf)))
  return isLikely && exceeds(sumOf(await mappedOf(pids))) ? `more than ${memoryMb} MB of memory` : undefined
}
