import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import type { Duplex } from 'node:stream'
import type { HullSize, OsLayers } from './hull-command.ts'
import { hullCommand, SECCOMP_FD } from './hull-command.ts'

/**
 * Starts Node under these layers, with nothing of the host but four pipes: two for what it says, at 1 and 2, and two that
 * lead both ways, at 3 and 4.
 */
export function spawnHull(node: string, args: readonly string[], layers: OsLayers, size: HullSize): ChildProcess {
  const command = hullCommand(node, args, layers, size)
  const { filter } = command
  const child = spawn(command.file, command.args, {
    cwd: '/',
    env: {},
    // Leads a session and a process group: out of reach for the host's terminal, and killed as a whole.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', ...(filter === undefined ? [] : ['pipe' as const])],
  })
  if (filter !== undefined) hand(filter, child)
  return child
}

/** Ends all of it at once, whatever stands between the host and Node. Idempotent. */
export function killHull(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // It ended in between.
  }
}

function hand(filter: Uint8Array, child: ChildProcess): void {
  // When no descriptor is left there are no streams at all, whatever the types say.
  const pipe = ((child.stdio ?? []) as readonly unknown[])[SECCOMP_FD] as Duplex | undefined
  // One that ends before it has read this says why by its end.
  pipe?.on('error', () => undefined)
  // Unread it would not close, and the child's `close` waits for it.
  pipe?.resume()
  pipe?.end(filter)
}
