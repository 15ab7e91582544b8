import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import type { Duplex } from 'node:stream'
import type { CompartmentLimits } from '@bulkhead/contract'
import type { OsLayers } from './hull-command.ts'
import { hullCommand, SECCOMP_FD } from './hull-command.ts'

/**
 * Starts Node under these layers, with nothing of the host but four pipes: what it says at 1 and 2, and two that it may
 * use as it likes, 3 and 4. It leads a process group; to kill the group is to kill all of it.
 */
export function spawnHull(
  node: string,
  args: readonly string[],
  layers: OsLayers,
  limits: Pick<CompartmentLimits, 'memoryMb'>,
): ChildProcess {
  const command = hullCommand(node, args, layers, limits)
  const { filter } = command
  const child = spawn(command.file, command.args, {
    cwd: '/',
    env: {},
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', ...(filter === undefined ? [] : ['pipe' as const])],
  })
  if (filter !== undefined) hand(filter, child)
  return child
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
