import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { namesIn } from './folders.ts'

/** What a process and all its descendants use. */
export interface TreeUse {
  readonly memoryBytes: number
  /** Processor time since it started, of children that have ended, too. */
  readonly cpuMs: number
}

/** Processes and threads of one tree that are looked at. */
const MOST_TASKS = 4_096
const TICK_MS = 10
const KB = 1024

/**
 * A process and its descendants, the process first. Stops at the limit of processes and threads, so that a fork bomb
 * costs no more: then it is undefined. Where the system does not list children, only the process itself.
 */
export function processTree(root: number, tasks = MOST_TASKS): readonly string[] | undefined {
  const found: string[] = []
  const open = [String(root)]
  let threads = 0
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    found.push(pid)
    const own = namesIn(`/proc/${pid}/task`)
    threads += own.length
    if (threads > tasks) return undefined
    for (const thread of own) {
      const children = textOf(`/proc/${pid}/task/${thread}/children`).split(' ')
      open.push(...children.filter((child) => child.trim() !== ''))
    }
  }
  return found
}

/** undefined if it has ended, is too large to count, or the system does not tell. Never rejects. */
export async function treeUse(root: number): Promise<TreeUse | undefined> {
  if (process.platform !== 'linux') return useIn(await psTable(), root)
  const uses = processTree(root)?.flatMap((pid) => useOf(pid) ?? []) ?? []
  return uses.length === 0 ? undefined : sumOf(uses)
}

/** Of one process, as /proc shows it. Pages that it shares with others count for each. */
function useOf(pid: string): TreeUse | undefined {
  const stat = textOf(`/proc/${pid}/stat`)
  // The name of the program is in parentheses and may contain parentheses and spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (fields.length < 16) return undefined
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
  const [, residentKb = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(textOf(`/proc/${pid}/status`)) ?? []
  return { memoryBytes: Number(residentKb) * KB, cpuMs: ticks * TICK_MS }
}

interface PsRow extends TreeUse {
  readonly pid: number
  readonly parent: number
}

let reading: Promise<readonly PsRow[]> | undefined

/** Every process, as `ps` of POSIX lists it. Questions of one moment share one run. */
function psTable(): Promise<readonly PsRow[]> {
  reading ??= promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,rss=,time='], { env: { LC_ALL: 'C', PATH: '/bin:/usr/bin' } })
    .then(({ stdout }) => readPsTable(stdout), () => []).finally(() => { reading = undefined })
  return reading
}

/** Exported for tests: Linux reads /proc instead. */
export const readPsTable = (text: string): readonly PsRow[] => text.split('\n').flatMap((line) => {
  const [pid, parent, residentKb, time] = line.trim().split(/\s+/)
  if (time === undefined) return []
  // [[days-]hours:]minutes:seconds
  const seconds = time.split(/[-:]/).map(Number).reduceRight(({ sum, at }, part) =>
    ({ sum: sum + part * UNITS_S[at]!, at: at + 1 }), { sum: 0, at: 0 }).sum
  return [{ pid: Number(pid), parent: Number(parent), memoryBytes: Number(residentKb) * KB, cpuMs: seconds * 1_000 }]
})

const UNITS_S = [1, 60, 3_600, 86_400]

/** Exported for tests. */
export function useIn(rows: readonly PsRow[], root: number): TreeUse | undefined {
  const children = Map.groupBy(rows, ({ parent }) => parent)
  const own = rows.filter(({ pid }) => pid === root)
  for (let at = 0; at < own.length && own.length < MOST_TASKS; at++) own.push(...children.get(own[at]!.pid) ?? [])
  return own.length === 0 ? undefined : sumOf(own)
}

const sumOf = (uses: readonly TreeUse[]): TreeUse => uses.reduce<TreeUse>((sum, { memoryBytes, cpuMs }) =>
  ({ memoryBytes: sum.memoryBytes + memoryBytes, cpuMs: sum.cpuMs + cpuMs }), { memoryBytes: 0, cpuMs: 0 })

/** Empty if the process is gone. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
