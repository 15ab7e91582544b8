import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { MARK_LIMIT } from '@bulkhead/kit/process-mark'

/**
 * `group`: a process group; `mark`: what has this limit of file locks, by which the processes of a command are known;
 * `file`, `folder`: removed, a folder with all in it; `empty`: a folder, removed if it is empty.
 */
export type Leftover = 'group' | 'mark' | 'file' | 'folder' | 'empty'

/** Reads what there is to sweep until the other end of the pipe is gone. Then whatever was not taken back is swept. */
const SCRIPT = `
n='
'
held=$n
while IFS= read -r line; do
  what=\${line#?}
  case $line in
    +*) held=$held$what$n ;;
    -*) held=\${held%%"$n$what$n"*}$n\${held#*"$n$what$n"} ;;
  esac
done
IFS=$n
set -f
marks=
for one in $held; do
  case $one in
    'group '*) kill -KILL "-\${one#* }" ;;
    'mark '*) marks="$marks|\${one#* }" ;;
  esac
done
round=0
while [ -n "$marks" ] && [ $round -lt 5 ]; do
  round=$((round + 1))
  set +f
  found=$(grep -lsE "^${MARK_LIMIT} +(\${marks#|}) " /proc/[0-9]*/limits)
  set -f
  [ -n "$found" ] || break
  for one in $found; do one=\${one#/proc/}; kill -KILL "\${one%/limits}"; done
done
for one in $held; do
  case $one in
    'file '*) rm -f -- "\${one#* }" ;;
    'folder '*) rm -rf -- "\${one#* }" ;;
    'empty '*) rmdir -- "\${one#* }" ;;
  esac
done
`

/** A system without room for it now may have some later, one without a shell has none. */
const TRIES = 3
const NOTHING = (): void => undefined

/**
 * Sweeps what this process leaves behind when it is killed: a shell that waits at the end of a pipe, which the system closes
 * however the process ends. It starts with the first thing to sweep. Where it cannot start, nothing is swept.
 */
class Reaper {
  #shell: ChildProcess | undefined
  #tries = 0

  /** From here on until what is returned is called, once. */
  hold(kind: Leftover, what: string | number): () => void {
    const entry = `${kind} ${what}\n`
    // One line is one thing.
    if (entry.indexOf('\n') !== entry.length - 1) return NOTHING
    const shell = this.#started()
    if (shell === undefined) return NOTHING
    shell.stdin?.write(`+${entry}`)
    let held = true
    return () => {
      if (held) shell.stdin?.write(`-${entry}`)
      held = false
    }
  }

  #started(): ChildProcess | undefined {
    if (this.#shell !== undefined || this.#tries >= TRIES) return this.#shell
    this.#tries++
    try {
      // Without its own session it would be ended by what ends a terminal's programs, together with this process.
      const shell = spawn('/bin/sh', ['-c', SCRIPT], { cwd: '/', env: { PATH: '/usr/bin:/bin' }, detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
      const forget = (): void => {
        if (this.#shell === shell) this.#shell = undefined
      }
      shell.once('error', forget).once('exit', forget).unref()
      shell.stdin?.on('error', NOTHING)
      ;(shell.stdin as Socket | null)?.unref()
      this.#shell = shell
    } catch {
      // This process may have no right to start another.
    }
    return this.#shell
  }
}

/** Of this process. */
export const reaper = new Reaper()
