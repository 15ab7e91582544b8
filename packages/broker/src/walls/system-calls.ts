/** Name and numbers; null where the architecture does not have it. Calls above 423 have the same number everywhere. */
export type SystemCall = readonly [name: string, x64: number, arm64: number | null]

/** Calls that no program behind a wall needs, and that it would make to leave it or to use uncounted memory. */
export const NEVER: readonly SystemCall[] = [
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

/** New processes; `clone` is checked by its flags. */
export const NEW_PROCESSES: readonly SystemCall[] = [['fork', 57, null], ['vfork', 58, null], ['execveat', 322, 281]]

/** Changes of a file's metadata, which Landlock does not govern. */
export const METADATA: readonly SystemCall[] = [
  ['chmod', 90, null], ['fchmod', 91, 52], ['fchmodat', 268, 53], ['fchmodat2', 452, 452],
  ['chown', 92, null], ['fchown', 93, 55], ['lchown', 94, null], ['fchownat', 260, 54],
  ['setxattr', 188, 5], ['lsetxattr', 189, 6], ['fsetxattr', 190, 7], ['setxattrat', 463, 463],
  ['removexattr', 197, 14], ['lremovexattr', 198, 15], ['fremovexattr', 199, 16], ['removexattrat', 466, 466],
  ['utime', 132, null], ['utimes', 235, null], ['futimesat', 261, null], ['utimensat', 280, 88],
  ['mknod', 133, null], ['mknodat', 259, 33], ['file_setattr', 469, 469],
]

/** Calls that only the trial of a wall makes. */
const TRIED: readonly SystemCall[] = [
  ['truncate', 76, 45], ['getpriority', 140, 141], ['ioprio_get', 252, 31], ['sched_getscheduler', 145, 120],
  ['sched_getaffinity', 204, 123], ['landlock_create_ruleset', 444, 444],
]

/** Calls that a filter allows or refuses by their arguments. */
export const CHECKED = {
  clone: ['clone', 56, 220],
  clone3: ['clone3', 435, 435],
  socket: ['socket', 41, 198],
  socketpair: ['socketpair', 53, 199],
  sendto: ['sendto', 44, 206],
  sendmsg: ['sendmsg', 46, 211],
  sendmmsg: ['sendmmsg', 307, 269],
  ioctl: ['ioctl', 16, 29],
  fcntl: ['fcntl', 72, 25],
  prlimit64: ['prlimit64', 302, 261],
  setpriority: ['setpriority', 141, 140],
  ioprio_set: ['ioprio_set', 251, 30],
  sched_setparam: ['sched_setparam', 142, 118],
  sched_setscheduler: ['sched_setscheduler', 144, 119],
  sched_setaffinity: ['sched_setaffinity', 203, 122],
  sched_setattr: ['sched_setattr', 314, 274],
  kill: ['kill', 62, 129],
  tkill: ['tkill', 200, 130],
  tgkill: ['tgkill', 234, 131],
  rt_sigqueueinfo: ['rt_sigqueueinfo', 129, 138],
  rt_tgsigqueueinfo: ['rt_tgsigqueueinfo', 297, 240],
} as const satisfies Readonly<Record<string, SystemCall>>

/** The numbers of all these calls on this architecture, by name. */
export const callNumbers = (architecture: string): Readonly<Record<string, number | null>> => Object.fromEntries(
  [...NEVER, ...NEW_PROCESSES, ...METADATA, ...TRIED, ...Object.values(CHECKED)].map(([name, x64, arm64]) =>
    [name, architecture === 'x64' ? x64 : arm64]),
)
