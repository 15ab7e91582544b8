import { spawn, type ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import type { Duplex } from 'node:stream'
import { startMasked } from '@bulkhead/broker'
import type { BubblewrapMeans, OsLayers, RlimitMeans } from './os-layer.ts'
import { launcherHull } from './launcher-layer.ts'
import { NOBODY, utilLinuxArgs } from './util-linux.ts'

/**
 * Starts Node under these layers, with four pipes: output at 1 and 2, and two duplex pipes at 3 and 4. `masked` are
 * descriptors that it would otherwise inherit from the host.
 */
export function spawnHull(
  node: string,
  args: readonly string[],
  layers: OsLayers,
  size: HullSize,
  masked: readonly number[] = [],
): ChildProcess {
  const { file, args: commandArgs, data } = hullCommand(node, args, layers, size)
  const pipes = ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', ...(data === undefined ? [] : ['pipe' as const])] as const
  // Leads a session and a process group: detached from the host's terminal, and killed as a whole.
  const child = startMasked(pipes, masked, (stdio) =>
    spawn(file, commandArgs, { cwd: '/', env: {}, detached: true, stdio }))
  // If the first process is killed before `bwrap` has tied the others to it, they would keep our pipes.
  child.once('exit', () => killGroup(child))
  if (data !== undefined) writeData(data, child)
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

function writeData(data: Uint8Array, child: ChildProcess): void {
  // Without free descriptors there are no streams, contrary to the types.
  const pipe = ((child.stdio ?? []) as readonly unknown[])[DATA_FD] as Duplex | undefined
  if (pipe === undefined) return
  // A child that ends before it has read this reports it by its exit.
  pipe.on('error', () => undefined)
  pipe.write(data)
  // The child waits for the end of the data. `end` closes in a later turn, which a busy host may delay.
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

interface HullSize {
  /** Resident memory of the whole hull. */
  readonly memoryMb: number
}

interface HullCommand {
  readonly file: string
  readonly args: readonly string[]
  /** Written to DATA_FD of the started program: the filter for bubblewrap, or the order of the launcher. */
  readonly data?: Uint8Array
}

/** After stdio, control and channel. */
const DATA_FD = 5

const MB = 1024 * 1024
/** Stacks of threads that Node starts later, and the overhead of the allocator. */
const LATER_MB = 64
/** A child process with one thread has 30 open; each further thread takes 8. */
const OPEN_FILES = 256

/** The command that replaces `node ...args`. Contract: it is started as leader of its own session. */
export function hullCommand(
  node: string,
  args: readonly string[],
  { rlimits, bubblewrap, seccomp, launcher, utilLinux }: OsLayers,
  size: HullSize,
): HullCommand {
  const limits = rlimits.active ? limitsOf(rlimits, size) : new Map<string, number>()
  const filter = seccomp.active ? seccomp.filter : undefined
  if (launcher.active) {
    const { argv: [file, ...rest], order } = launcherHull(launcher, filter, limits, [node, ...args], DATA_FD)
    return { file: file!, args: rest, data: order }
  }
  const data = bubblewrap.active ? filter : undefined
  const [file, ...rest] = [
    ...(rlimits.active && rlimits.path !== undefined ? [rlimits.path, ...limitArgs(limits), '--'] : []),
    ...(bubblewrap.active ? [bubblewrap.path, ...bubblewrapArgs(bubblewrap, data), '--', bubblewrap.node]
      : utilLinux.active ? [...utilLinuxArgs(utilLinux), node] : [node]),
    ...args,
  ]
  return { file: file!, args: rest, ...(data && { data }) }
}

/**
 * No limit on address space: a wasm memory reserves 10 GB and uses none. No limit on processes: it counts all of the
 * user, and root is exempt.
 */
function limitsOf(
  { idleDataBytes, threadDataBytes, hard }: RlimitMeans, { memoryMb }: HullSize,
): ReadonlyMap<string, number> {
  const wanted = new Map([
    ['data', idleDataBytes + threadDataBytes + Math.ceil((memoryMb + LATER_MB) * MB)],
    ['nofile', OPEN_FILES],
    ['fsize', 0],
    ['core', 0],
    ['memlock', 0],
    ['msgqueue', 0],
  ])
  return new Map([...wanted].map(([resource, most]) => [resource, Math.min(most, hard.get(resource) ?? Infinity)]))
}

const limitArgs = (limits: ReadonlyMap<string, number>): readonly string[] =>
  [...limits].map(([resource, most]) => `--${resource}=${most}`)

/**
 * No `--new-session`: the hull leads a session already, and a second one would leave the process group that the host
 * kills. No /proc and no /dev: Node does not need them, and they reveal facts about the host.
 */
function bubblewrapArgs(
  { files, refusesNamespaces, sharesNetwork }: BubblewrapMeans, filter: Uint8Array | undefined,
): string[] {
  return [
    '--unshare-all', '--unshare-user', ...(sharesNetwork ? ['--share-net'] : []), ...(refusesNamespaces ? ['--disable-userns'] : []),
    '--uid', NOBODY, '--gid', NOBODY, '--hostname', 'hull',
    '--die-with-parent', '--cap-drop', 'ALL', '--clearenv',
    ...[...files].flatMap(([inside, outside]) => ['--ro-bind', outside, inside]),
    '--remount-ro', '/', '--chdir', '/',
    ...(filter === undefined ? [] : ['--seccomp', String(DATA_FD)]),
  ]
}
