import { spawn, type ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import type { Duplex } from 'node:stream'
import { startMasked } from '@bulkhead/broker'
import { hullCommand, SECCOMP_FD, type HullSize } from './hull-command.ts'
import type { OsLayers } from './os-layer.ts'

/**
 * Starts Node under these layers, with four pipes: output at 1 and 2, and two duplex pipes at 3 and 4. `masked` are descriptors
 * that it would otherwise inherit from the host.
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
  // Leads a session and a process group: detached from the host's terminal, and killed as a whole.
  const child = startMasked(pipes, masked, (stdio) => spawn(file, commandArgs, { cwd: '/', env: {}, detached: true, stdio }))
  // If the first process is killed before `bwrap` has tied the others to it, they would keep our pipes.
  child.once('exit', () => killGroup(child))
  if (filter !== undefined) writeFilter(filter, child)
  return child
}

/** Kills the whole process group. Idempotent. */
export function killHull(child: ChildProcess): void {
  if (isRunning(child)) killGroup(child)
}

/** Continues a process group that was stopped. */
export function continueHull(child: ChildProcess): void {
  if (isRunning(child)) signalGroup(child, 'SIGCONT')
}

const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode === null && signalCode === null

const killGroup = (child: ChildProcess): void => signalGroup(child, 'SIGKILL')

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // The group is gone.
  }
}

function writeFilter(filter: Uint8Array, child: ChildProcess): void {
  // Without free descriptors there are no streams, contrary to the types.
  const pipe = ((child.stdio ?? []) as readonly unknown[])[SECCOMP_FD] as Duplex | undefined
  if (pipe === undefined) return
  // A child that ends before it has read this reports it by its exit.
  pipe.on('error', () => undefined)
  pipe.write(filter)
  // The child waits for the end of the filter. `end` closes in a later turn, which a busy host may delay.
  if (pipe.writableLength === 0) return void pipe.destroy()
  // Unread, it would not close, and the child's `close` event waits for it.
  pipe.resume()
  pipe.end()
}

/** Some signals have two names; Node uses the first. */
const SIGNALS: ReadonlyMap<number, string> = new Map(
  Object.entries(constants.signals).toReversed().map(([name, number]) => [number, name]),
)

/** How a process ended. A wrapper such as `bwrap` exits with 128 + n when signal n ended its child. */
export function processEnd(code: number | null, signal: string | null): string {
  return signal ?? SIGNALS.get((code ?? 0) - 128) ?? `code ${code}`
}
