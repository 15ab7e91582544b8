import { readFileSync } from 'node:fs'
import { namesIn } from '@bulkhead/kit/folders'

export interface TreeLimits {
  /** Processes and threads together. */
  readonly tasks: number
  /** Memory that the processes do not share with files. */
  readonly memoryMb: number
}

/** The kernel checks limits of one process. This checks the sum, twice a second. */
const EVERY_MS = 500
const KB = 1024

/**
 * Watches a process and all its descendants. Calls `exceeded` once, with what was exceeded. Returns a function that
 * stops it. Where the system does not list children, only the first process is counted.
 */
export function watchTree(pid: number, limits: TreeLimits, exceeded: (what: string) => void): () => void {
  const timer = setInterval(() => {
    const what = excessOf(pid, limits)
    if (what === undefined) return
    clearInterval(timer)
    exceeded(what)
  }, EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** Stops counting at the first excess, so that a fork bomb costs no more than the limit. */
function excessOf(root: number, { tasks, memoryMb }: TreeLimits): string | undefined {
  const open = [String(root)]
  let threads = 0
  let memoryKb = 0
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    const own = namesIn(`/proc/${pid}/task`)
    threads += own.length
    if (threads > tasks) return `more than ${tasks} processes and threads`
    memoryKb += Number(/^RssAnon:\s+(\d+) kB$/m.exec(textOf(`/proc/${pid}/status`))?.[1] ?? 0)
    if (memoryKb > memoryMb * KB) return `more than ${memoryMb} MB of memory`
    for (const thread of own) {
      const children = textOf(`/proc/${pid}/task/${thread}/children`).split(' ')
      open.push(...children.filter((child) => child.trim() !== ''))
    }
  }
  return undefined
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
