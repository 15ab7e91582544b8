import type { OsLayer } from './os-layer.ts'
import { utilLinuxArgs, type UtilLinuxMeans } from './util-linux.ts'

export interface OsLayers {
  /** Bounds on memory, on files and on what a crash leaves. */
  readonly rlimits: OsLayer<RlimitMeans>
  /** No network, no file but those of Node, no process and no signal beyond its own. */
  readonly bubblewrap: OsLayer<BubblewrapMeans>
  /** No new process, no socket, none of the calls by which kernels are attacked. Needs bubblewrap. */
  readonly seccomp: OsLayer<SeccompMeans>
  /** Where bubblewrap is missing: no privileges, and where namespaces work no network and no processes of the host. */
  readonly utilLinux: OsLayer<UtilLinuxMeans>
}

export interface RlimitMeans {
  /** Of `prlimit`. */
  readonly path: string
  /** What RLIMIT_DATA counts of Node before it does anything: mostly room for code and stacks that is never touched. */
  readonly idleDataBytes: number
  /** And what it counts for the thread of its compartment. */
  readonly threadDataBytes: number
  /** Limits the host itself has; only root could go beyond them. */
  readonly hard: ReadonlyMap<string, number>
}

export interface BubblewrapMeans {
  /** Of `bwrap`. */
  readonly path: string
  /** Where Node is found inside. */
  readonly node: string
  /** The files Node is made of, by the place they have inside. */
  readonly files: ReadonlyMap<string, string>
  /** Whether `bwrap` knows how to refuse user namespaces inside its own. */
  readonly refusesNamespaces: boolean
}

export interface SeccompMeans {
  readonly filter: Uint8Array
}

export interface HullSize {
  /** Resident memory of the whole hull. */
  readonly memoryMb: number
}

export interface HullCommand {
  readonly file: string
  readonly args: readonly string[]
  /** To be read by the started program at SECCOMP_FD, to its end. */
  readonly filter?: Uint8Array
}

/** Beside standard input and output, control and channel. */
export const SECCOMP_FD = 5

const MB = 1024 * 1024
/** Stacks of the threads that Node starts only once it needs them, and the allocator's own waste. */
const LATER_MB = 64
/** A hull with one thread has 30; each further thread takes 8. */
const OPEN_FILES = 256
/** Whoever the host runs as, inside it is this one. */
const NOBODY = '65534'

/** What to start in place of `node ...args`. Contract: it is started as leader of its own session. */
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
 * Not the address space: a wasm memory reserves 10 GB of it and uses none. Not the number of processes: it counts all of
 * the host's user, and root is exempt.
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
 * No `--new-session`: the hull leads a session already, and a second one would take what runs inside out of the process
 * group that the host kills. No /proc and no /dev: Node does without, and they tell about the host.
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
