import { setTimeout as delay } from 'node:timers/promises'
import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { hasProcessMark, isResourceShortage } from '@bulkhead/kit/processes'

/** The environment variable that identifies the run a process belongs to. */
export const RUN_VARIABLE = 'BULKHEAD_RUN'

/** About four seconds in all. A process that survives this long waits in the kernel, for example for a dead disk. */
const SCANS = 40
/** The pause before the second scan. Each later pause is longer by as much. */
const PAUSE_MS = 5

/**
 * What identifies the processes of one run: group and session of its leader, a marker in the environment, a mark among
 * the limits, and parentage. Without a mark (no prlimit), a process escapes by starting its own session with another
 * environment and losing its parent before a scan. With a mark it must also change that limit. Only a process
 * namespace, which the command sandbox has, prevents that.
 */
export interface RunIdentity {
  readonly leader: ProcessRow
  readonly marker: string
  readonly mark: number
  /** Processes found to belong to the run. Every scan adds to it. */
  readonly seen: Set<string>
}

/** Finds and kills the remaining processes of runs. Concurrent runs share one scan of /proc. */
export class LeftoverProcesses {
  #waiting: { readonly identity: RunIdentity; readonly done: () => void; scans: number }[] = []
  #working = false

  /** Resolves when no process of the run is found. Contract: never rejects. */
  end(identity: RunIdentity): Promise<void> {
    return new Promise((done) => {
      this.#waiting.push({ identity, done, scans: 0 })
      if (!this.#working) void this.#work()
    })
  }

  async #work(): Promise<void> {
    this.#working = true
    while (this.#waiting.length > 0) {
      const batch = this.#waiting
      this.#waiting = []
      const table = await processTable()
      for (const entry of batch) {
        const left = table && await processesOf(entry.identity, table)
        left?.forEach((row) => signalProcess(row, 'SIGKILL'))
        // A failed scan does not prove that nothing is left.
        if (left?.length === 0 || ++entry.scans >= SCANS) entry.done()
        else this.#waiting.push(entry)
      }
      if (this.#waiting.length > 0) await delay(PAUSE_MS * Math.min(...this.#waiting.map(({ scans }) => scans)))
    }
    this.#working = false
  }
}

/**
 * The processes of a run, its leader included. Contract: never rejects; undefined when they cannot be determined now.
 */
export async function processesOf(
  identity: RunIdentity, table: readonly ProcessRow[],
): Promise<readonly ProcessRow[] | undefined> {
  const { leader, marker, mark, seen } = identity
  const young = table.filter(({ started }) => started >= leader.started)
  const found = new Set<ProcessRow>()
  let isWhole = true
  await Promise.all(young.map(async (row) => {
    const known = row.group === leader.pid || row.session === leader.pid || seen.has(processKey(row))
    const signs: readonly (boolean | undefined)[] = known ? [true]
      : await Promise.all([hasMarker(row.pid, marker), hasMark(row.pid, mark)])
    if (signs.includes(true)) found.add(row)
    else isWhole &&= !signs.includes(undefined)
  }))
  // Iterating a Set visits elements added meanwhile, so this reaches grandchildren.
  for (const parent of found) {
    for (const row of young) if (row.parent === parent.pid) found.add(row)
  }
  for (const row of found) seen.add(processKey(row))
  return isWhole ? [...found] : undefined
}

/** Signals this process, and not a later one with the same pid. */
export function signalProcess({ pid, started }: ProcessRow, signal: NodeJS.Signals): void {
  if (processRow(pid)?.started !== started) return
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended, or runs as another user.
  }
}

const processKey = ({ pid, started }: ProcessRow): string => `${pid}@${started}`

/** A process as /proc/PID/stat shows it. */
export interface ProcessRow {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  /** In ticks since boot. Together with the pid it is unique; pids are reused. */
  readonly started: number
  /** A zombie. */
  readonly ended: boolean
}

/** undefined for a process that is gone, and without /proc. */
export function processRow(pid: number): ProcessRow | undefined {
  try {
    return parse(pid, readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return undefined
  }
}

/**
 * Every running process. Contract: never rejects; empty without /proc, undefined when /proc cannot be read now, for
 * example because the host has no descriptors left.
 */
export async function processTable(): Promise<readonly ProcessRow[] | undefined> {
  const names = await readdir('/proc').catch((error: unknown) => isResourceShortage(error) ? undefined : [])
  const pids = names?.filter((name) => /^\d+$/.test(name)).map(Number)
  const texts = pids && await Promise.all(pids.map((pid) => textOf(pid, 'stat')))
  if (texts === undefined || texts.includes(undefined)) return undefined
  const rows = pids!.map((pid, index) => parse(pid, texts[index]!))
  return rows.filter((row) => row !== undefined).filter(({ ended }) => !ended)
}

/** Contract: never rejects; undefined as above. */
async function hasMarker(pid: number, marker: string): Promise<boolean | undefined> {
  return (await textOf(pid, 'environ'))?.split('\0').includes(`${RUN_VARIABLE}=${marker}`)
}

/** Contract: as above. */
async function hasMark(pid: number, mark: number): Promise<boolean | undefined> {
  const limits = await textOf(pid, 'limits')
  return limits === undefined ? undefined : hasProcessMark(limits, mark)
}

/** An empty string for a process that is gone or belongs to another user. */
const textOf = (pid: number, name: 'stat' | 'environ' | 'limits'): Promise<string | undefined> =>
  readFile(`/proc/${pid}/${name}`, 'latin1').catch((error: unknown) => isResourceShortage(error) ? undefined : '')

/** The program name is in parentheses and may contain parentheses and spaces. The fields after it are plain. */
function parse(pid: number, text: string): ProcessRow | undefined {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const number = (index: number): number => Number(fields[index])
  if (fields.length < 20) return undefined
  const ended = fields[0] === 'Z' || fields[0] === 'X'
  return { pid, parent: number(1), group: number(2), session: number(3), started: number(19), ended }
}
