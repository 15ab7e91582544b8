import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { MARK_LIMIT } from '@bulkhead/kit/processes'

/**
 * `group`: kill a process group; `mark`: kill every process with this mark; `file`, `folder`: delete, recursively;
 * `empty`: delete a folder if it is empty.
 */
export type Leftover = 'group' | 'mark' | 'file' | 'folder' | 'empty'

/** Reads entries until the host closes the pipe, then cleans up every entry that was not removed. */
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

/** A shortage of resources may pass. A missing shell will not appear. */
const TRIES = 3
const NO_OP = (): void => undefined

/**
 * Cleans up after this process if it is killed. A shell waits at the end of a pipe, which the kernel closes however the
 * process ends. It starts with the first entry. Where it cannot start, nothing is cleaned up.
 */
class Reaper {
  #shell: ChildProcess | undefined
  #tries = 0

  /** Adds an entry. Call the returned function to remove it. */
  hold(kind: Leftover, what: string | number): () => void {
    const entry = `${kind} ${what}\n`
    // The protocol is one entry per line.
    if (entry.indexOf('\n') !== entry.length - 1) return NO_OP
    const shell = this.#started()
    if (shell === undefined) return NO_OP
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
      // In its own session, so that Ctrl+C in a terminal does not end it together with this process.
      const shell = spawn('/bin/sh', ['-c', SCRIPT], {
        cwd: '/', env: { PATH: '/usr/bin:/bin' }, detached: true, stdio: ['pipe', 'ignore', 'ignore'],
      })
      const forget = (): void => {
        if (this.#shell === shell) this.#shell = undefined
      }
      shell.once('error', forget).once('exit', forget).unref()
      shell.stdin?.on('error', NO_OP)
      ;(shell.stdin as Socket | null)?.unref()
      this.#shell = shell
    } catch {
      // The host may not be allowed to start processes.
    }
    return this.#shell
  }
}

export const reaper = new Reaper()
