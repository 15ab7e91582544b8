import { setTimeout as delay } from 'node:timers/promises'
import type { ProcessRow } from './process-table.ts'
import { carriesMark, carriesMarker, processRow, processTable } from './process-table.ts'

/** About four seconds; then a process is given up that cannot be ended, such as one that waits for a dead disk. */
const LOOKS = 40
/** Before the second look; the pauses grow by as much from look to look. */
const PAUSE_MS = 5

/**
 * By what the processes of one run are known: the group and session of the first one, a marker in the environment, a number
 * among the limits, and who is whose child. Without the number, as where there is no prlimit, a process leaves all of these by
 * starting a session of its own, with another environment, and losing its parent before anyone looked; with it, only by setting
 * itself another limit besides. Holding that needs a process namespace, as a wall around the command has one.
 */
export interface RunTraces {
  readonly leader: ProcessRow
  readonly marker: string
  readonly mark: number
  /** Processes seen to belong to the run; filled by every look. */
  readonly seen: Set<string>
}

/** Looks for what is left of runs and ends it; any number of runs share one look. */
export class Leftovers {
  #waiting: { readonly traces: RunTraces; readonly done: () => void; looks: number }[] = []
  #working = false

  /** Resolves when nothing of the run is found any more. Contract: never rejects. */
  end(traces: RunTraces): Promise<void> {
    return new Promise((done) => {
      this.#waiting.push({ traces, done, looks: 0 })
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
        const left = table && await processesOf(entry.traces, table)
        left?.forEach((row) => signalProcess(row, 'SIGKILL'))
        // Who could not look has not seen that nothing is left.
        if (left?.length === 0 || ++entry.looks >= LOOKS) entry.done()
        else this.#waiting.push(entry)
      }
      if (this.#waiting.length > 0) await delay(PAUSE_MS * Math.min(...this.#waiting.map(({ looks }) => looks)))
    }
    this.#working = false
  }
}

/**
 * The processes of a run among those of a table, the first one included. Contract: never rejects; undefined when it cannot be
 * found out for now.
 */
export async function processesOf(traces: RunTraces, table: readonly ProcessRow[]): Promise<readonly ProcessRow[] | undefined> {
  const { leader, marker, mark, seen } = traces
  const young = table.filter(({ started }) => started >= leader.started)
  const found = new Set<ProcessRow>()
  let isWhole = true
  await Promise.all(young.map(async (row) => {
    const known = row.group === leader.pid || row.session === leader.pid || seen.has(nameOf(row))
    const signs: readonly (boolean | undefined)[] = known ? [true] : await Promise.all([carriesMarker(row.pid, marker), carriesMark(row.pid, mark)])
    if (signs.includes(true)) found.add(row)
    else isWhole &&= !signs.includes(undefined)
  }))
  // A Set grows while it is walked: children of children are reached too.
  for (const parent of found) {
    for (const row of young) if (row.parent === parent.pid) found.add(row)
  }
  for (const row of found) seen.add(nameOf(row))
  return isWhole ? [...found] : undefined
}

/** Sends a signal to that very process, and not to another one that has got its number since. */
export function signalProcess({ pid, started }: ProcessRow, signal: NodeJS.Signals): void {
  if (processRow(pid)?.started !== started) return
  try {
    process.kill(pid, signal)
  } catch {
    // It ended in between, or runs as another user: then it is out of reach.
  }
}

const nameOf = ({ pid, started }: ProcessRow): string => `${pid}@${started}`
