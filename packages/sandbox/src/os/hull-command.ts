import type { BubblewrapMeans, OsLayers, RlimitMeans } from './os-layer.ts'
import { utilLinuxArgs } from './util-linux.ts'

export interface HullSize {
  /** Resident memory of the whole hull. */
  readonly memoryMb: number
}

export interface HullCommand {
  readonly file: string
  readonly args: readonly string[]
  /** Written to SECCOMP_FD of the started program. */
  readonly filter?: Uint8Array
}

/** After stdio, control and channel. */
export const SECCOMP_FD = 5

const MB = 1024 * 1024
/** Stacks of threads that Node starts later, and the overhead of the allocator. */
const LATER_MB = 64
/** A child process with one thread has 30 open; each further thread takes 8. */
const OPEN_FILES = 256
/** The user inside. */
const NOBODY = '65534'

/** The command that replaces `node ...args`. Contract: it is started as leader of its own session. */
export function hullCommand(
  node: string,
  args: readonly string[],
  { rlimits, bubblewrap, seccomp, utilLinux }: OsLayers,
  size: HullSize,
): HullCommand {
  const filter = bubblewrap.active && seccomp.active ? seccomp.filter : undefined
  const [file, ...rest] = [
    ...(rlimits.active ? [rlimits.path, ...limitArgs(rlimits, size), '--'] : []),
    ...(bubblewrap.active ? [bubblewrap.path, ...wallArgs(bubblewrap, filter), '--', bubblewrap.node]
      : utilLinux.active ? [...utilLinuxArgs(utilLinux), node] : [node]),
    ...args,
  ]
  return { file: file!, args: rest, ...(filter && { filter }) }
}

/**
 * No limit on address space: a wasm memory reserves 10 GB and uses none. No limit on processes: it counts all of the user, and
 * root is exempt.
 */
function limitArgs({ idleDataBytes, threadDataBytes, hard }: RlimitMeans, { memoryMb }: HullSize): string[] {
  const wanted = new Map([
    ['data', idleDataBytes + threadDataBytes + Math.ceil((memoryMb + LATER_MB) * MB)],
    ['nofile', OPEN_FILES],
    ['fsize', 0],
    ['core', 0],
    ['memlock', 0],
    ['msgqueue', 0],
  ])
  return [...wanted].map(([resource, most]) => `--${resource}=${Math.min(most, hard.get(resource) ?? Infinity)}`)
}

/**
 * No `--new-session`: the hull leads a session already, and a second one would leave the process group that the host kills. No
 * /proc and no /dev: Node does not need them, and they reveal facts about the host.
 */
function wallArgs({ files, refusesNamespaces }: BubblewrapMeans, filter: Uint8Array | undefined): string[] {
  return [
    '--unshare-all', '--unshare-user', ...(refusesNamespaces ? ['--disable-userns'] : []),
    '--uid', NOBODY, '--gid', NOBODY, '--hostname', 'hull',
    '--die-with-parent', '--cap-drop', 'ALL', '--clearenv',
    ...[...files].flatMap(([inside, outside]) => ['--ro-bind', outside, inside]),
    '--remount-ro', '/', '--chdir', '/',
    ...(filter === undefined ? [] : ['--seccomp', String(SECCOMP_FD)]),
  ]
}
