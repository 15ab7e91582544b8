/** Its name and its number; null where the architecture never had it. Those above 423 have one number everywhere. */
export type SystemCall = readonly [name: string, x64: number, arm64: number | null]

/** What a hull never asks for, and code that broke out of Node would ask for next. */
export const REFUSED: readonly SystemCall[] = [
  // A further process; `clone` is judged by its flags.
  ['fork', 57, null], ['vfork', 58, null], ['execveat', 322, 281],
  // Families of sockets that no namespace bounds reach other machines, or seldom walked parts of the kernel.
  ['socket', 41, 198], ['socketpair', 53, 199],
  // Work that the kernel does out of a filter's sight.
  ['io_uring_setup', 425, 425], ['io_uring_enter', 426, 426], ['io_uring_register', 427, 427], ['io_setup', 206, 0],
  // The insides of other processes.
  ['ptrace', 101, 117], ['process_vm_readv', 310, 270], ['process_vm_writev', 311, 271], ['kcmp', 312, 272],
  ['process_madvise', 440, 440], ['pidfd_open', 434, 434], ['pidfd_getfd', 438, 438], ['pidfd_send_signal', 424, 424],
  // Parts of the kernel that attacks on it go through.
  ['bpf', 321, 280], ['perf_event_open', 298, 241], ['userfaultfd', 323, 282], ['vmsplice', 278, 75],
  ['add_key', 248, 217], ['request_key', 249, 218], ['keyctl', 250, 219], ['personality', 135, 92],
  ['init_module', 175, 105], ['finit_module', 313, 273], ['delete_module', 176, 106],
  ['kexec_load', 246, 104], ['kexec_file_load', 320, 294],
  ['modify_ldt', 154, null], ['iopl', 172, null], ['ioperm', 173, null],
  // Other namespaces, other views of the file system, files without a path.
  ['unshare', 272, 97], ['setns', 308, 268], ['chroot', 161, 51], ['pivot_root', 155, 41], ['mount', 165, 40],
  ['umount2', 166, 39], ['open_tree', 428, 428], ['move_mount', 429, 429], ['fsopen', 430, 430], ['fsconfig', 431, 431],
  ['fsmount', 432, 432], ['fspick', 433, 433], ['mount_setattr', 442, 442], ['fanotify_init', 300, 262],
  ['name_to_handle_at', 303, 264], ['open_by_handle_at', 304, 265],
  // Memory that the limit on data does not count.
  ['memfd_create', 319, 279], ['memfd_secret', 447, 447], ['shmget', 29, 194], ['msgget', 68, 186], ['semget', 64, 190],
  ['mq_open', 240, 180],
]

export const CLONE: SystemCall = ['clone', 56, 220]
export const CLONE3: SystemCall = ['clone3', 435, 435]
