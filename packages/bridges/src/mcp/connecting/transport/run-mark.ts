import { readdirSync, readFileSync } from 'node:fs'
import { hasProcessMark, isUnmarked } from '@bulkhead/kit/process-mark'

/** A process with a mark cannot mark the servers it starts. */
export const canMark = (): boolean => isUnmarked(limitsOf('self'))

/** Kills every process with the mark, and what those started meanwhile. Synchronous: at exit there is no later turn. */
export function killMarked(mark: number): void {
  for (let looks = 0; looks < LOOKS; looks++) {
    const found = processes().filter((pid) => hasProcessMark(limitsOf(pid), mark))
    if (found.length === 0) return
    for (const pid of found) {
      try {
        process.kill(Number(pid), 'SIGKILL')
      } catch {
        // It has already ended.
      }
    }
  }
}

/** A killed process stays in the table until its parent reads its exit status. */
const LOOKS = 3

function processes(): readonly string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  } catch {
    return []
  }
}

function limitsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/limits`, 'latin1')
  } catch {
    return ''
  }
}
