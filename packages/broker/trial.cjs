'use strict'
// The trial of a wall: an attacker that makes system calls directly, on files and a process outside. It is started behind
// the wall, and reports what it could do. `src/walls/trial.ts` starts it. It is JavaScript for the same reason as
// launch.cjs. An error other than a refusal means that the call got through.
const { getBuiltinModule } = process
const { dlopen, getInt32, getRawPointer } = getBuiltinModule('node:ffi')
const { spawnSync } = getBuiltinModule('node:child_process')
const fs = getBuiltinModule('node:fs')

/** `outside` cannot be opened, `seen` can be read only, `own` can be changed. `victim` is a process outside. */
const { outside, seen, own, device, victim, calls, groups } = JSON.parse(fs.readFileSync(0, 'utf8'))
const numberOf = (name) => calls[name]

const { functions: { syscall, __errno_location: errnoAt } } = dlopen(null, {
  syscall: { arguments: Array(7).fill('i64'), return: 'i64' },
  __errno_location: { arguments: [], return: 'pointer' },
})
const kept = []
const at = (bytes) => {
  kept.push(bytes)
  return getRawPointer(bytes)
}
const text = (value) => at(Buffer.from(`${value}\0`))
const EPERM = 1
const EACCES = 13
const ENOSYS = 38
let lastError = 0
/** Whether a call was refused, or does not exist here. */
function isRefused(name, ...args) {
  const number = numberOf(name)
  if (number === null || number === undefined) return true
  const result = syscall(BigInt(number), ...args.map(BigInt), ...Array(6 - args.length).fill(0n))
  lastError = result === -1n ? getInt32(errnoAt()) : 0
  return [EPERM, EACCES, ENOSYS].includes(lastError)
}
/** Whether an operation of Node was refused. */
function isForbidden(work) {
  try {
    work()
    return false
  } catch (error) {
    return ['EPERM', 'EACCES', 'EXDEV'].includes(error.code)
  }
}

const AT_FDCWD = -100
const RIGHTS = 0o600
const SAME = 0xffff_ffff
const [O_RDONLY, O_WRONLY] = [0, 1]
const S_IFIFO = 0o010000
const S_IFSOCK = 0o140000
const S_IFCHR = 0o020000
const S_IFBLK = 0o060000

const file = text(`${seen}/file`)
const attribute = text('user.bulkhead')
const value = () => at(Buffer.from('x'))
const opened = () => fs.openSync(`${seen}/file`, O_RDONLY)
const xattrArguments = () => {
  const bytes = Buffer.alloc(16)
  bytes.writeBigUInt64LE(BigInt(value()), 0)
  bytes.writeUInt32LE(1, 8)
  return at(bytes)
}
const REQUESTS = {
  FS_IOC_SETFLAGS: 0x4008_6602, FS_IOC_FSSETXATTR: 0x401c_5820, FS_IOC_SETVERSION: 0x4008_7602,
  FAT_IOCTL_SET_ATTRIBUTES: 0x4004_7211, BTRFS_IOC_SUBVOL_CREATE: 0x5000_940e, F2FS_IOC_SET_PIN_FILE: 0x4004_f50d,
}

/** Each attempt returns whether it was refused. By group, then by a name that begins with the call. */
const GROUPS = {
  // No privileges to gain or to use.
  privileges: {
    'no-new-privileges': () => /^NoNewPrivs:\s+1$/m.test(status()),
    capabilities: () => ['CapInh', 'CapPrm', 'CapEff', 'CapAmb'].every((set) =>
      new RegExp(`^${set}:\\s+0+$`, 'm').test(status())),
  },
  never: Object.fromEntries([
    'io_uring_setup', 'io_uring_enter', 'io_uring_register', 'io_setup', 'kcmp', 'process_madvise', 'pidfd_getfd',
    'pidfd_send_signal', 'bpf', 'perf_event_open', 'userfaultfd', 'vmsplice', 'add_key', 'request_key', 'keyctl',
    'init_module', 'finit_module', 'delete_module', 'kexec_load', 'kexec_file_load', 'modify_ldt', 'iopl', 'ioperm',
    'unshare', 'setns', 'chroot', 'pivot_root', 'mount', 'umount2', 'open_tree', 'move_mount', 'fsopen', 'fsconfig',
    'fsmount', 'fspick', 'mount_setattr', 'fanotify_init', 'name_to_handle_at', 'open_by_handle_at', 'memfd_create',
    'memfd_secret', 'shmget', 'semget', 'mq_open',
  ].map((name) => [name, () => isRefused(name)]).concat([
    ['ptrace', () => isRefused('ptrace', 0x4206, victim)],
    ['process_vm_readv', () => isRefused('process_vm_readv', victim)],
    ['process_vm_writev', () => isRefused('process_vm_writev', victim)],
    ['pidfd_open', () => isRefused('pidfd_open', victim)],
    ['personality', () => isRefused('personality', 0xffff_ffff)],
    // Key 0 would make one.
    ['msgget', () => isRefused('msgget', 1)],
    // A combination that the kernel never accepts, with a new user namespace.
    ['clone of a namespace', () => isRefused('clone', 0x1000_0800)],
  ])),
  files: {
    readFile: () => isForbidden(() => fs.readFileSync(`${outside}/file`)),
    readDir: () => isForbidden(() => fs.readdirSync(outside)),
    writeFile: () => isForbidden(() => fs.closeSync(fs.openSync(`${seen}/file`, O_WRONLY))),
    truncate: () => isForbidden(() => fs.truncateSync(`${seen}/file`, 0)) && isRefused('truncate', file, 0),
    makeReg: () => isForbidden(() => fs.linkSync(`${seen}/file`, `${seen}/linked`)),
    makeDir: () => isForbidden(() => fs.mkdirSync(`${seen}/made`)),
    makeSym: () => isForbidden(() => fs.symlinkSync('/', `${seen}/symlink`)),
    removeFile: () => isForbidden(() => fs.unlinkSync(`${seen}/removed`)),
    removeDir: () => isForbidden(() => fs.rmdirSync(`${seen}/folder`)),
    refer: () => isForbidden(() => fs.linkSync(`${seen}/file`, `${own}/linked`)),
    makeSock: () => isRefused('mknodat', AT_FDCWD, text(`${seen}/socket`), S_IFSOCK | RIGHTS, 0),
    makeFifo: () => isRefused('mknodat', AT_FDCWD, text(`${seen}/fifo`), S_IFIFO | RIGHTS, 0),
    // Only root could, so a refusal of the kernel counts as well.
    makeChar: () => isRefused('mknodat', AT_FDCWD, text(`${seen}/char`), S_IFCHR | RIGHTS, 0x103),
    makeBlock: () => isRefused('mknodat', AT_FDCWD, text(`${seen}/block`), S_IFBLK | RIGHTS, 0x700),
  },
  devices: {
    ioctlDev: () => isRefused('ioctl', fs.openSync(device, O_RDONLY), 0x5401, value()),
  },
  programs: {
    execute: () => ['EPERM', 'EACCES'].includes(spawnSync(`${outside}/program`).error?.code),
  },
  metadata: {
    chmod: () => isRefused('chmod', file, RIGHTS),
    fchmod: () => isRefused('fchmod', opened(), RIGHTS),
    fchmodat: () => isRefused('fchmodat', AT_FDCWD, file, RIGHTS),
    fchmodat2: () => isRefused('fchmodat2', AT_FDCWD, file, RIGHTS, 0),
    chown: () => isRefused('chown', file, SAME, SAME),
    fchown: () => isRefused('fchown', opened(), SAME, SAME),
    lchown: () => isRefused('lchown', file, SAME, SAME),
    fchownat: () => isRefused('fchownat', AT_FDCWD, file, SAME, SAME, 0),
    setxattr: () => isRefused('setxattr', file, attribute, value(), 1, 0),
    lsetxattr: () => isRefused('lsetxattr', file, attribute, value(), 1, 0),
    fsetxattr: () => isRefused('fsetxattr', opened(), attribute, value(), 1, 0),
    setxattrat: () => isRefused('setxattrat', AT_FDCWD, file, 0, attribute, xattrArguments(), 16),
    removexattr: () => isRefused('removexattr', file, attribute),
    lremovexattr: () => isRefused('lremovexattr', file, attribute),
    fremovexattr: () => isRefused('fremovexattr', opened(), attribute),
    removexattrat: () => isRefused('removexattrat', AT_FDCWD, file, 0, attribute),
    utime: () => isRefused('utime', file, 0),
    utimes: () => isRefused('utimes', file, 0),
    futimesat: () => isRefused('futimesat', AT_FDCWD, file, 0),
    utimensat: () => isRefused('utimensat', AT_FDCWD, file, 0, 0),
    // In a folder where Landlock allows it.
    mknod: () => isRefused('mknod', text(`${own}/fifo`), S_IFIFO | RIGHTS, 0),
    mknodat: () => isRefused('mknodat', AT_FDCWD, text(`${own}/fifo at`), S_IFIFO | RIGHTS, 0),
    file_setattr: () => isRefused('file_setattr', AT_FDCWD, file, at(Buffer.alloc(24)), 24, 0),
    ...Object.fromEntries(Object.entries(REQUESTS).map(([name, request]) =>
      [`ioctl ${name}`, () => isRefused('ioctl', opened(), request, at(Buffer.alloc(4096)))])),
  },
  sockets: {
    'socket AF_UNIX': () => isRefused('socket', 1, 1, 0),
    'socket AF_INET': () => isRefused('socket', 2, 1, 0),
    'socket AF_INET6': () => isRefused('socket', 10, 1, 0),
    'socket of UDP': () => isRefused('socket', 2, 2, 0),
    'socket of raw packets': () => isRefused('socket', 2, 3, 1),
    'socket AF_NETLINK': () => isRefused('socket', 16, 3, 0),
    'socket AF_ALG': () => isRefused('socket', 38, 5, 0),
    'socket AF_VSOCK': () => isRefused('socket', 40, 1, 0),
    'socketpair of datagrams': () => isRefused('socketpair', 1, 2, 0, at(Buffer.alloc(8))),
  },
  tcp: {
    'socket AF_UNIX': () => isRefused('socket', 1, 1, 0),
    'socket of UDP': () => isRefused('socket', 2, 2, 0),
    'socket of raw packets': () => isRefused('socket', 2, 3, 1),
    'socket of MPTCP': () => isRefused('socket', 2, 1, 262),
    'socket of SCTP': () => isRefused('socket', 2, 1, 132),
    'socket of SMC': () => isRefused('socket', 2, 1, 256),
    'socket AF_SMC': () => isRefused('socket', 43, 1, 0),
    'socket AF_NETLINK': () => isRefused('socket', 16, 3, 0),
    'socketpair of datagrams': () => isRefused('socketpair', 1, 2, 0, at(Buffer.alloc(8))),
    'sendto with fast open': () => isRefused('sendto', -1, 0, 0, 0x2000_0000, 0, 0),
    'sendmsg with fast open': () => isRefused('sendmsg', -1, 0, 0x2000_0000),
    'sendmmsg with fast open': () => isRefused('sendmmsg', -1, 0, 0, 0x2000_0000),
  },
  processes: {
    clone: () => isRefused('clone', 0x800),
    execveat: () => isRefused('execveat', -1, 0, 0, 0, 0),
  },
  // Each sets what is set already.
  control: {
    prlimit64: () => isRefused('prlimit64', victim, 4, 0, at(Buffer.alloc(16))),
    setpriority: () => isRefused('setpriority', 0, victim, priority()),
    ioprio_set: () => isRefused('ioprio_set', 1, victim, priorityOfIo()),
    sched_setparam: () => isRefused('sched_setparam', victim, at(Buffer.alloc(4))),
    sched_setscheduler: () => isRefused('sched_setscheduler', victim, policy(), at(Buffer.alloc(4))),
    sched_setaffinity: () => isRefused('sched_setaffinity', victim, 128, processors()),
    sched_setattr: () => isRefused('sched_setattr', victim, at(Buffer.alloc(48)), 0),
  },
  signals: {
    kill: () => isRefused('kill', victim, 0),
    tkill: () => isRefused('tkill', victim, 0),
    tgkill: () => isRefused('tgkill', victim, victim, 0),
    rt_sigqueueinfo: () => isRefused('rt_sigqueueinfo', victim, 0, queued()),
    rt_tgsigqueueinfo: () => isRefused('rt_tgsigqueueinfo', victim, victim, 0, queued()),
  },
  // Where Landlock does not see the signal that the kernel sends later.
  owners: {
    'fcntl F_SETOWN': () => isRefused('fcntl', 1, 8, victim),
    'fcntl F_SETSIG': () => isRefused('fcntl', 1, 10, 0),
    'fcntl F_SETOWN_EX': () => isRefused('fcntl', 1, 15, at(Buffer.alloc(8))),
  },
}
const status = () => fs.readFileSync('/proc/self/status', 'latin1')
const answer = (name, ...args) =>
  Number(syscall(BigInt(numberOf(name)), ...args.map(BigInt), ...Array(6 - args.length).fill(0n)))
const priority = () => 20 - answer('getpriority', 0, victim)
const priorityOfIo = () => answer('ioprio_get', 1, victim)
const policy = () => answer('sched_getscheduler', victim)
function processors() {
  const mask = at(Buffer.alloc(128))
  answer('sched_getaffinity', victim, 128, mask)
  return mask
}
function queued() {
  const info = Buffer.alloc(128)
  // SI_QUEUE
  info.writeInt32LE(-1, 8)
  return at(info)
}

/** An attempt may need a file that the wall keeps out already. */
function isStopped(attempt) {
  try {
    return attempt()
  } catch (error) {
    return ['EPERM', 'EACCES'].includes(error.code)
  }
}

/** A wall that keeps everything out is of no use. */
const USES = {
  'reading what is granted': () => fs.readFileSync(`${seen}/file`),
  'writing what is granted': () => own === undefined || fs.writeFileSync(`${own}/file`, ''),
}
function works(use) {
  try {
    use()
    return true
  } catch {
    return false
  }
}

const attempts = groups.flatMap((group) => Object.entries(GROUPS[group]))
const passed = attempts.filter(([, attempt]) => !isStopped(attempt)).map(([name]) => name)
const useless = Object.entries(USES).filter(([, use]) => !works(use)).map(([name]) => name)
const abi = answer('landlock_create_ruleset', 0, 0, 1)
fs.writeSync(1, JSON.stringify({ abi, passed, useless }))
process.reallyExit(0)
