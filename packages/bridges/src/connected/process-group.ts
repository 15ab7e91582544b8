import type { ChildProcess } from 'node:child_process'
import { accessSync, constants, readdirSync, readFileSync } from 'node:fs'
import { hasProcessMark, workingLaunchers } from '@bulkhead/kit/processes'

const leaders = new Map<number, number | undefined>()
let isWatching = false

/**
 * Ties a process group to its leader and to this process. When the leader ends, the rest of the group and marked
 * processes that left it are killed. When this process ends, all of them are. If it ends by SIGKILL, only the system
 * can clean up.
 */
export function trackGroup(child: ChildProcess, mark: number | undefined): void {
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
    // The group has already ended.
  }
}

function end(pid: number, mark: number | undefined): void {
  signalGroup(pid, 'SIGKILL')
  if (mark) killMarked(mark)
}

function killAll(): void {
  for (const [pid, mark] of leaders) end(pid, mark)
}

/** Kills every process with the mark, and their new children. Synchronous, because it runs in an exit handler. */
function killMarked(mark: number): void {
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

const FOLDERS = ['/usr/bin', '/bin', '/usr/sbin']
const DEATH = ['--pdeathsig', 'KILL']

/** Programs that tie a process to this one. */
export interface Launchers {
  /** Prefix of a command that lets the system kill it with this process. Empty if that is not supported. */
  readonly deathSignal: readonly string[]
  /** The program that marks a process and its children. undefined if there is none. */
  readonly prlimit: string | undefined
}

let found: Promise<Launchers> | undefined

/** Rejects if no process can be started now. The next call tries again. */
export function launchers(): Promise<Launchers> {
  found ??= find().catch((error: unknown) => {
    found = undefined
    throw error
  })
  return found
}

async function find(): Promise<Launchers> {
  const [at, marker] = process.platform === 'linux' ? ['setpriv', 'prlimit'].map(programOf) : []
  const { setpriv, prlimit } = await workingLaunchers({ setpriv: at, prlimit: marker }, DEATH)
  return { deathSignal: setpriv ? [setpriv.path, ...DEATH, '--'] : [], prlimit: prlimit?.path }
}

function programOf(name: string): { readonly path: string } | undefined {
  const path = FOLDERS.map((folder) => `${folder}/${name}`).find(isExecutable)
  return path === undefined ? undefined : { path }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
