import { constants, endianness } from 'node:os'

/** Name and numbers; null where the architecture does not have it. Calls above 423 have the same number everywhere. */
type SystemCall = readonly [name: string, x64: number, arm64: number | null]

const SOCKET: SystemCall = ['socket', 41, 198]

/** Calls that no server needs, and that code in a jail would make to leave it or to use uncounted memory. */
const NEVER: readonly SystemCall[] = [
  // Work that bypasses the filter.
  ['io_uring_setup', 425, 425], ['io_uring_enter', 426, 426], ['io_uring_register', 427, 427], ['io_setup', 206, 0],
  // Access to other processes.
  ['ptrace', 101, 117], ['process_vm_readv', 310, 270], ['process_vm_writev', 311, 271], ['kcmp', 312, 272],
  ['process_madvise', 440, 440], ['pidfd_open', 434, 434], ['pidfd_getfd', 438, 438], ['pidfd_send_signal', 424, 424],
  // Parts of the kernel with many exploits.
  ['bpf', 321, 280], ['perf_event_open', 298, 241], ['userfaultfd', 323, 282], ['vmsplice', 278, 75],
  ['add_key', 248, 217], ['request_key', 249, 218], ['keyctl', 250, 219], ['personality', 135, 92],
  ['init_module', 175, 105], ['finit_module', 313, 273], ['delete_module', 176, 106],
  ['kexec_load', 246, 104], ['kexec_file_load', 320, 294],
  ['modify_ldt', 154, null], ['iopl', 172, null], ['ioperm', 173, null],
  // Namespaces, mounts, files without a path.
  ['unshare', 272, 97], ['setns', 308, 268], ['chroot', 161, 51], ['pivot_root', 155, 41], ['mount', 165, 40],
  ['umount2', 166, 39], ['open_tree', 428, 428], ['move_mount', 429, 429], ['fsopen', 430, 430], ['fsconfig', 431, 431],
  ['fsmount', 432, 432], ['fspick', 433, 433], ['mount_setattr', 442, 442], ['fanotify_init', 300, 262],
  ['name_to_handle_at', 303, 264], ['open_by_handle_at', 304, 265],
  // Memory that RLIMIT_DATA does not count.
  ['memfd_create', 319, 279], ['memfd_secret', 447, 447], ['shmget', 29, 194], ['msgget', 68, 186], ['semget', 64, 190],
  ['mq_open', 240, 180],
]

/** Calls that a hull never makes, and that code which has escaped from Node would make next. */
export const REFUSED: readonly SystemCall[] = [
  // New processes; `clone` is checked by its flags.
  ['fork', 57, null], ['vfork', 58, null], ['execveat', 322, 281],
  // Some socket families are not confined by namespaces, or reach rarely used parts of the kernel.
  SOCKET, ['socketpair', 53, 199],
  ...NEVER,
]

const CLONE: SystemCall = ['clone', 56, 220]
const CLONE3: SystemCall = ['clone3', 435, 435]

// Classic BPF for seccomp: instructions of eight bytes that load a word and compare it.
const LOAD = 0x20
const IF_EQUAL = 0x15
const IF_AT_LEAST = 0x35
const IF_ANY_BIT = 0x45
const RETURN = 0x06
const INSTRUCTION_BYTES = 8

/** Offsets in the kernel's `seccomp_data`. */
const NUMBER = 0
const ARCHITECTURE = 4
/** The flags of `clone`, the family of `socket`. */
const FIRST_ARGUMENT = 16

const ALLOW = 0x7fff_0000
const FAIL_WITH = 0x0005_0000
/** Numbers of the x32 ABI start here. */
const X32 = 0x4000_0000
const CLONE_THREAD = 0x0001_0000
/** Every flag of `clone` for a new namespace. */
const NEW_NAMESPACES = 0x7e02_0000
/** AF_UNIX, AF_INET and AF_INET6, which the network namespace confines, and AF_NETLINK, which lists its interfaces. */
const CONFINED_FAMILIES = [1, 2, 10, 16]

interface Architecture {
  readonly audit: number
  readonly numberOf: (call: SystemCall) => number | null
}

/** By Node's name: the kernel's audit number, and the column of system call numbers. */
const ARCHITECTURES: ReadonlyMap<string, Architecture> = new Map([
  ['x64', { audit: 0xc000_003e, numberOf: ([, x64]) => x64 }],
  ['arm64', { audit: 0xc000_00b7, numberOf: ([, , arm64]) => arm64 }],
])

/** The last instructions of the program: its jump targets. */
const ACTIONS = {
  allow: ALLOW,
  refuse: FAIL_WITH | constants.errno.EPERM,
  unknown: FAIL_WITH | constants.errno.ENOSYS,
} as const
type Action = keyof typeof ACTIONS

interface Instruction {
  readonly code: number
  readonly value: number
  /** Jump targets of a comparison; the default is the next instruction. A number skips that many instructions. */
  readonly yes?: Action
  readonly no?: Action | number
}

/**
 * A seccomp filter that fails the calls a hull never makes. It never kills: libuv tries io_uring at every start and
 * goes on without. Undefined for an unknown architecture.
 */
export const seccompFilter = (architecture: string): Uint8Array | undefined => filterOf(architecture, REFUSED, [
  { code: IF_ANY_BIT, value: CLONE_THREAD, yes: 'allow', no: 'refuse' },
])

/** The filter for a server: processes and ordinary sockets are allowed, new namespaces are not. */
export const serverFilter = (architecture: string): Uint8Array | undefined => filterOf(
  architecture, NEVER, [{ code: IF_ANY_BIT, value: NEW_NAMESPACES, yes: 'refuse', no: 'allow' }],
  (numberOf) => [
    { code: IF_EQUAL, value: numberOf(SOCKET)!, no: CONFINED_FAMILIES.length + 1 },
    { code: LOAD, value: FIRST_ARGUMENT },
    ...CONFINED_FAMILIES.map((value, index): Instruction => (
      { code: IF_EQUAL, value, yes: 'allow', ...(index === CONFINED_FAMILIES.length - 1 && { no: 'refuse' as const }) }
    )),
  ],
)

/** `clone` checks the flags of a new thread or process. `more` follows the list of refused calls. */
function filterOf(
  architecture: string, calls: readonly SystemCall[], clone: readonly Instruction[],
  more: (numberOf: Architecture['numberOf']) => readonly Instruction[] = () => [],
): Uint8Array | undefined {
  const known = ARCHITECTURES.get(architecture)
  if (known === undefined || endianness() !== 'LE') return undefined
  const { audit, numberOf } = known
  const refused = calls.map(numberOf).filter((value) => value !== null)
  return assemble([
    { code: LOAD, value: ARCHITECTURE },
    { code: IF_EQUAL, value: audit, no: 'refuse' },
    { code: LOAD, value: NUMBER },
    { code: IF_AT_LEAST, value: X32, yes: 'refuse' },
    ...refused.map((value): Instruction => ({ code: IF_EQUAL, value, yes: 'refuse' })),
    // Its flags are not visible here; the C library falls back to `clone` on ENOSYS.
    { code: IF_EQUAL, value: numberOf(CLONE3)!, yes: 'unknown' },
    ...more(numberOf),
    { code: IF_EQUAL, value: numberOf(CLONE)!, no: 'allow' },
    { code: LOAD, value: FIRST_ARGUMENT },
    ...clone,
  ])
}

function assemble(instructions: readonly Instruction[]): Uint8Array {
  const actions = Object.keys(ACTIONS) as Action[]
  const program = new DataView(new ArrayBuffer((instructions.length + actions.length) * INSTRUCTION_BYTES))
  const write = (index: number, code: number, yes: number, no: number, value: number): void => {
    const at = index * INSTRUCTION_BYTES
    program.setUint16(at, code, true)
    program.setUint8(at + 2, yes)
    program.setUint8(at + 3, no)
    program.setUint32(at + 4, value, true)
  }
  instructions.forEach(({ code, value, yes, no }, index) => {
    const over = (target: Action | number = 0): number =>
      typeof target === 'number' ? target : instructions.length + actions.indexOf(target) - index - 1
    write(index, code, over(yes), over(no), value)
  })
  actions.forEach((action, index) => write(instructions.length + index, RETURN, 0, 0, ACTIONS[action]))
  return new Uint8Array(program.buffer)
}
