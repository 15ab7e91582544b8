import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { startMasked } from '@bulkhead/broker'
import type { HullSize, OsLayers } from './hull-command.ts'
import { hullCommand, SECCOMP_FD } from './hull-command.ts'

/**
 * Starts Node under these layers, with nothing of the host but four pipes: two for what it says, at 1 and 2, and two that
 * lead both ways, at 3 and 4. Masked are descriptors that it would get from the host otherwise.
 */
export function spawnHull(
  node: string,
  args: readonly string[],
  layers: OsLayers,
  size: HullSize,
  masked: readonly number[] = [],
): ChildProcess {
  const { file, args: commandArgs, filter } = hullCommand(node, args, layers, size)
  const pipes = ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', ...(filter === undefined ? [] : ['pipe' as const])] as const
  // Leads a session and a process group: out of reach for the host's terminal, and killed as a whole.
  const child = startMasked(pipes, masked, (stdio) => spawn(file, commandArgs, { cwd: '/', env: {}, detached: true, stdio }))
  // Whoever kills the first process alone, before `bwrap` has tied the others to it, would leave them with our pipes.
  child.once('exit', () => killGroup(child))
  if (filter !== undefined) hand(filter, child)
  return child
}

/** Ends all of it at once, whatever stands between the host and Node. Idempotent. */
export function killHull(child: ChildProcess): void {
  if (isThere(child)) killGroup(child)
}

/** Lets all of it go on that somebody has stopped. */
export function continueHull(child: ChildProcess): void {
  if (isThere(child)) signalGroup(child, 'SIGCONT')
}

const isThere = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode === null && signalCode === null

const killGroup = (child: ChildProcess): void => signalGroup(child, 'SIGKILL')

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // Nothing of it is left.
  }
}

function hand(filter: Uint8Array, child: ChildProcess): void {
  // When no descriptor is left there are no streams at all, whatever the types say.
  const pipe = ((child.stdio ?? []) as readonly unknown[])[SECCOMP_FD] as Duplex | undefined
  if (pipe === undefined) return
  // One that ends before it has read this says why by its end.
  pipe.on('error', () => undefined)
  pipe.write(filter)
  // The child waits for the end of it. A stream that is ended closes in a later turn, which a busy host may be slow to come to.
  if (pipe.writableLength === 0) return void pipe.destroy()
  // Unread it would not close, and the child's `close` waits for it.
  pipe.resume()
  pipe.end()
}
