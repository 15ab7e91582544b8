import type { ChildProcess } from 'node:child_process'
import { killMarked } from './run-mark.ts'

const leaders = new Map<number, number | undefined>()
let isWatching = false

/**
 * Keeps the group of a process that leads one. When the leader has ended, the rest of the group is killed, and whoever has left it
 * and has its mark; when this process ends, all of it is. Its own end by SIGKILL is the system's to notice.
 */
export function keepGroup(child: ChildProcess, mark: number | undefined): void {
  const { pid } = child
  if (pid === undefined) return
  if (!isWatching) process.on('exit', killAll)
  isWatching = true
  leaders.set(pid, mark)
  child.once('exit', () => {
    end(pid, mark)
    leaders.delete(pid)
  })
}

export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // Nothing of it is left.
  }
}

function end(pid: number, mark: number | undefined): void {
  signalGroup(pid, 'SIGKILL')
  if (mark) killMarked(mark)
}

function killAll(): void {
  for (const [pid, mark] of leaders) end(pid, mark)
}
