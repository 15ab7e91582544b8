import { anyBit, argument, equals, filterOf, mustBe, otherwise, refuse, type FilterRule } from './seccomp-filter.ts'
import { CHECKED, METADATA, NEVER, NEW_PROCESSES, type SystemCall } from './system-calls.ts'

const CLONE_THREAD = 0x0001_0000
/** Every flag of `clone` for a new namespace. */
const NEW_NAMESPACES = 0x7e02_0000

const THREADS_ONLY: readonly FilterRule[] = [
  ...NEW_PROCESSES.map(refuse),
  { call: CHECKED.clone, checks: [...argument(0), ...anyBit(CLONE_THREAD, 'allow', 'refuse')] },
]
const NO_NAMESPACES: readonly FilterRule[] = [
  { call: CHECKED.clone, checks: [...argument(0), ...anyBit(NEW_NAMESPACES, 'refuse', 'allow')] },
]

const AF_UNIX = 1
const AF_INET = 2
const AF_INET6 = 10
const AF_NETLINK = 16
const SOCK_STREAM = 1
const SOCK_SEQPACKET = 5
const SOCKET_TYPE = 0xf
const IPPROTO_TCP = 6
const MSG_FASTOPEN = 0x2000_0000

const families = (...allowed: readonly number[]): FilterRule =>
  ({ call: CHECKED.socket, checks: [...argument(0), ...mustBe(allowed, true)] })

/** A pair that is connected for good. A datagram socket of a pair can still send to every socket by path. */
const CONNECTED_PAIRS: FilterRule = {
  call: CHECKED.socketpair,
  checks: [
    ...argument(0), ...mustBe([AF_UNIX]), ...argument(1, SOCKET_TYPE), ...mustBe([SOCK_STREAM, SOCK_SEQPACKET], true),
  ],
}

/** Landlock does not see a connection that the first data opens. */
const NO_FAST_OPEN: readonly FilterRule[] = ([['sendto', 3], ['sendmsg', 2], ['sendmmsg', 3]] as const).map(
  ([name, flags]) => ({ call: CHECKED[name], checks: [...argument(flags), ...anyBit(MSG_FASTOPEN, 'refuse', 'allow')] }),
)

/**
 * The sockets that a program gets.
 * - `nothing`: not even pairs, for a program that starts no other.
 * - `none`: connected pairs, through which programs talk to their children.
 * - `tcp`: also TCP, whose ports Landlock can limit. What passes its rules is refused: MPTCP, SCTP, SMC, fast open.
 * - `network`: also UDP and all else of the internet families. For a program with its own network namespace, which does
 *   not confine sockets by path.
 * - `local`: also sockets by path, for a program that sees no files but its own.
 */
export type SocketPower = 'nothing' | 'none' | 'tcp' | 'network' | 'local'

const SOCKETS: Readonly<Record<SocketPower, readonly FilterRule[]>> = {
  nothing: [refuse(CHECKED.socket), refuse(CHECKED.socketpair)],
  none: [refuse(CHECKED.socket), CONNECTED_PAIRS],
  tcp: [
    {
      call: CHECKED.socket,
      checks: [
        ...argument(0), ...mustBe([AF_INET, AF_INET6]), ...argument(1, SOCKET_TYPE), ...mustBe([SOCK_STREAM]),
        ...argument(2), ...mustBe([0, IPPROTO_TCP], true),
      ],
    },
    CONNECTED_PAIRS,
    ...NO_FAST_OPEN,
  ],
  network: [families(AF_INET, AF_INET6, AF_NETLINK), CONNECTED_PAIRS],
  local: [families(AF_UNIX, AF_INET, AF_INET6, AF_NETLINK)],
}

// Requests of `ioctl` have a type in their second byte. These types are of file systems: ext4, XFS, version numbers,
// FAT, btrfs, F2FS. Some change files through a descriptor that was opened to read.
const REQUEST_TYPE = 0xff00
const FILE_SYSTEM_TYPES = [0x66, 0x58, 0x76, 0x72, 0x94, 0xf5].map((type) => type << 8)
/** FS_IOC_GETFLAGS and its 32-bit form, FSGETXATTR, GETVERSION, FIEMAP; FICLONE and FICLONERANGE need a written file. */
const HARMLESS_REQUESTS = [
  0x8008_6601, 0x8004_6601, 0x801c_581f, 0x8008_7601, 0xc020_660b, 0x4004_9409, 0x4020_940d,
]
const NO_FILE_FLAGS: FilterRule = {
  call: CHECKED.ioctl,
  checks: [
    ...argument(1), ...equals(HARMLESS_REQUESTS, 'allow'),
    ...argument(1, REQUEST_TYPE), ...equals(FILE_SYSTEM_TYPES, 'refuse'), ...otherwise('allow'),
  ],
}

const PRIO_PROCESS = 0
const IOPRIO_WHO_PROCESS = 1
/** Process 0 is the caller itself. */
const itself = (call: SystemCall): FilterRule => ({ call, checks: [...argument(0), ...mustBe([0], true)] })
const itselfOf = (call: SystemCall, kind: number): FilterRule =>
  ({ call, checks: [...argument(0), ...mustBe([kind]), ...argument(1), ...mustBe([0], true)] })

/** Limits, priority and processors of other processes. */
const NO_CONTROL: readonly FilterRule[] = [
  itself(CHECKED.prlimit64), itselfOf(CHECKED.setpriority, PRIO_PROCESS),
  itselfOf(CHECKED.ioprio_set, IOPRIO_WHO_PROCESS), itself(CHECKED.sched_setparam),
  itself(CHECKED.sched_setscheduler), itself(CHECKED.sched_setaffinity), itself(CHECKED.sched_setattr),
]

const F_SETOWN = 8
const F_SETSIG = 10
const F_SETOWN_EX = 15
/** No signal to another process, except to the whole own group. */
const NO_SIGNALS: readonly FilterRule[] = [
  itself(CHECKED.kill), refuse(CHECKED.tkill), refuse(CHECKED.tgkill), refuse(CHECKED.rt_sigqueueinfo),
  refuse(CHECKED.rt_tgsigqueueinfo),
  // The kernel sends a signal when a file is ready.
  {
    call: CHECKED.fcntl,
    checks: [...argument(1), ...equals([F_SETOWN, F_SETSIG, F_SETOWN_EX], 'refuse'), ...otherwise('allow')],
  },
]

export interface FilteredPowers {
  readonly sockets: SocketPower
  /** Whether it may start processes. */
  readonly processes: boolean
  /** Whether it may change mode, owner, times and attributes of every file that its user can change. */
  readonly metadata: boolean
  /** Whether Landlock (from SIGNAL_ABI on) or a process namespace confines its signals. */
  readonly confinesSignals: boolean
}

/** The rules for a program behind the launcher. */
export const launcherRules = (
  { sockets, processes, metadata, confinesSignals }: FilteredPowers,
): readonly FilterRule[] => [
  ...NEVER.map(refuse),
  ...(processes ? NO_NAMESPACES : THREADS_ONLY),
  ...SOCKETS[sockets],
  ...(metadata ? [] : [...METADATA.map(refuse), NO_FILE_FLAGS]),
  ...NO_CONTROL,
  ...(confinesSignals ? [] : NO_SIGNALS),
]

/** The filter for a program behind the launcher. Undefined for an unknown architecture. */
export const launcherFilter = (powers: FilteredPowers, architecture: string = process.arch): Uint8Array | undefined =>
  filterOf(architecture, launcherRules(powers))

/** Calls that a hull never makes, and that code which has escaped from Node would make next. */
export const REFUSED: readonly SystemCall[] = [
  ...NEW_PROCESSES,
  // Some socket families are not confined by namespaces, or reach rarely used parts of the kernel.
  CHECKED.socket, CHECKED.socketpair,
  ...NEVER,
]

/** The filter for a hull in bubblewrap, where namespaces confine signals and files. */
export const hullFilter = (architecture: string): Uint8Array | undefined =>
  filterOf(architecture, [refuse(CHECKED.socket), refuse(CHECKED.socketpair), ...NEVER.map(refuse), ...THREADS_ONLY])

/** The filter for a server in bubblewrap: processes and ordinary sockets are allowed, new namespaces are not. */
export const serverFilter = (architecture: string): Uint8Array | undefined =>
  filterOf(architecture, [...NEVER.map(refuse), ...SOCKETS.local, ...NO_NAMESPACES])
