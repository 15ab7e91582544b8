import type { ChildProcess } from 'node:child_process'

const leaders = new Set<number>()
let isWatching = false

/**
 * Keeps the group of a process that leads one. When the leader has ended, the rest of the group is killed; when this process ends,
 * all of it is. Its own end by SIGKILL is the system's to notice.
 */
export function keepGroup(child: ChildProcess): void {
  const { pid } = child
  if (pid === undefined) return
  if (!isWatching) process.on('exit', killAll)
  isWatching = true
  leaders.add(pid)
  child.once('exit', () => {
    signalGroup(pid, 'SIGKILL')
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

function killAll(): void {
  for (const pid of leaders) signalGroup(pid, 'SIGKILL')
}
