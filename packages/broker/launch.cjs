'use strict'
// The launcher: puts the wall of its order around itself, then becomes the program of the order. It is JavaScript,
// because stripping types would take longer than everything else here. `src/walls/launcher.ts` writes the orders.
const { getBuiltinModule } = process
const { dlopen, getInt32, getRawPointer } = getBuiltinModule('node:ffi')
const { constants, readdirSync, readSync, writeSync } = getBuiltinModule('node:fs')
const { getSystemErrorName } = getBuiltinModule('node:util')

const FAILED = 125
const PR_SET_PDEATHSIG = 1
const PR_SET_SECCOMP = 22
const PR_CAPBSET_DROP = 24
const PR_SET_NO_NEW_PRIVS = 38
const PR_CAP_AMBIENT = 47
const PR_CAP_AMBIENT_CLEAR_ALL = 4
const SECCOMP_MODE_FILTER = 2n
const [SIGKILL, SIGPIPE] = [9, 13]
const [SIG_DFL, SIG_IGN] = [0n, 1n]
const SIGNALS = 64
const SIG_SETMASK = 2
const [F_SETFD, FD_CLOEXEC] = [2, 1]
const [EPERM, EINVAL, ENOSYS] = [1, 22, 38]
/** ENOENT, EACCES, ENOTDIR, ENAMETOOLONG, ELOOP: a place that this user cannot reach. */
const UNREACHABLE = [2, 13, 20, 36, 40]
// The same on x64 and arm64.
const [LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF] = [444, 445, 446]
const CLOSE_RANGE = 436
const CLOSE_RANGE_CLOEXEC = 4
const [RULE_PATH_BENEATH, RULE_NET_PORT] = [1, 2]
// Every kernel that has Landlock has it.
const OPENAT2 = 437
const AT_FDCWD = -100
const [O_PATH, O_CLOEXEC] = [0o10000000, 0o2000000]
const RESOLVE_NO_SYMLINKS = 4
const CAPABILITY_VERSION_3 = 0x2008_0522
// Numbers of the kernel, by the names of `prlimit`.
const RESOURCES = { cpu: 0, fsize: 1, data: 2, core: 4, nproc: 6, nofile: 7, memlock: 8, as: 9, locks: 10, msgqueue: 12 }

const orderFd = Number(process.argv[2])
const isSpare = process.argv[3] === 'spare'
const REHEARSALS = 20
// Memory that the kernel reads must not be collected.
const kept = []
const pointerTo = (bytes) => {
  kept.push(bytes)
  return getRawPointer(bytes)
}
const integers = (...types) => ({ arguments: types, return: 'i32' })
const { functions: { _exit: exitNow, __errno_location: errnoAt, ...c } } = dlopen(null, {
  syscall: { arguments: Array(7).fill('i64'), return: 'i64' },
  prctl: integers('i32', 'u64', 'u64', 'u64', 'u64'),
  prlimit: integers('i32', 'i32', 'pointer', 'pointer'),
  capset: integers('pointer', 'pointer'),
  setgroups: integers('u64', 'pointer'),
  setresgid: integers('u32', 'u32', 'u32'),
  setresuid: integers('u32', 'u32', 'u32'),
  open: integers('pointer', 'i32'),
  close: integers('i32'),
  write: { arguments: ['i32', 'pointer', 'u64'], return: 'i64' },
  fcntl: integers('i32', 'i32', 'i64'),
  dup2: integers('i32', 'i32'),
  signal: { arguments: ['i32', 'pointer'], return: 'pointer' },
  sigprocmask: integers('i32', 'pointer', 'pointer'),
  execve: integers('pointer', 'pointer', 'pointer'),
  _exit: { arguments: ['i32'], return: 'void' },
  __errno_location: { arguments: [], return: 'pointer' },
})

// The same function for other arguments: BigInts take longer than integers.
const { functions: withPointer } = dlopen(null, { syscall: integers('i32', 'i32', 'i32', 'pointer', 'i32') })
const { functions: withPointers } = dlopen(null, { syscall: integers('i32', 'i32', 'pointer', 'pointer', 'i32') })

/** Nothing runs without its wall: a step that fails ends the launcher, and says which. */
function fail(step, code) {
  tell(orderFd, JSON.stringify({ step, code }))
  tell(2, `launcher: ${step} failed (${code}), so nothing was started\n`)
  end()
}

function tell(fd, words) {
  c.signal(SIGPIPE, SIG_IGN)
  try {
    writeSync(fd, words)
  } catch {
    // The host does not listen. The exit code still says it.
  }
}

/** At once: after some of the steps, Node cannot end in its usual way. */
const end = () => exitNow(FAILED)

const version = Buffer.alloc(8)
version.writeUInt32LE(CAPABILITY_VERSION_3, 0)
const capabilities = pointerTo(version)
const noCapabilities = pointerTo(Buffer.alloc(24))
const ready = pointerTo(Buffer.from('+'))

const errno = () => getInt32(errnoAt())
/** Ends the launcher if the call failed with an error that is not `allowed`. */
function check(step, result, allowed = []) {
  if (Number(result) !== -1) return Number(result)
  const number = errno()
  if (!allowed.includes(number)) fail(step, getSystemErrorName(-number))
  return -1
}
const call = (step, allowed, ...args) =>
  check(step, c.syscall(...args.map(BigInt), ...Array(7 - args.length).fill(0n)), allowed)
const prctl = (step, option, value = 0, allowed = []) =>
  check(step, c.prctl(option, BigInt(value), 0n, 0n, 0n), allowed)

/** Pointers to strings, in one piece of memory: each piece takes time. */
function texts(values) {
  const bytes = Buffer.from(values.map((value) => `${value}\0`).join(''))
  const start = BigInt(pointerTo(bytes))
  let at = 0
  const pointers = values.map(() => {
    const pointer = start + BigInt(at)
    at = bytes.indexOf(0, at) + 1
    return pointer
  })
  if (at !== bytes.length) fail('the start', 'a text has a NUL character')
  return pointers
}

/** A length, then JSON. Waits for it: a spare waits here for its use. */
function readOrder() {
  const exactly = (count) => {
    const bytes = Buffer.allocUnsafe(count)
    for (let at = 0; at < count;) {
      const read = readSync(orderFd, bytes, at, count - at)
      // The host has ended, or needs no spare any more.
      if (read === 0) end()
      at += read
    }
    return bytes
  }
  return exactly(exactly(4).readUInt32LE(0))
}

function limit(limits) {
  for (const [resource, most] of Object.entries(limits)) {
    if (RESOURCES[resource] === undefined) fail(`a limit of ${resource}`, 'EINVAL')
    const pair = Buffer.alloc(16)
    pair.writeBigUInt64LE(BigInt(most), 0)
    pair.writeBigUInt64LE(BigInt(most), 8)
    check(`a limit of ${resource}`, c.prlimit(0, RESOURCES[resource], pointerTo(pair), 0n))
  }
}

/** The rule set as a descriptor, before rights on files are given up. */
function makeRuleSet({ governed, leastAbi, onFiles, noLinks, paths, ports }) {
  const abi = call('landlock', [], LANDLOCK_CREATE_RULESET, 0, 0, 1)
  if (abi < leastAbi) fail(`landlock of ABI ${leastAbi}`, `the kernel has ABI ${abi}`)
  const { files, tcp, scopes } = governed[Math.min(abi, governed.length) - 1]
  const attributes = Buffer.alloc(24)
  ;[files, tcp, scopes].forEach((mask, index) => attributes.writeBigUInt64LE(BigInt(mask), index * 8))
  // Older kernels know the first fields only.
  const size = scopes > 0 ? 24 : tcp > 0 ? 16 : 8
  const rules = call('landlock_create_ruleset', [], LANDLOCK_CREATE_RULESET, pointerTo(attributes), size, 0)
  const rule = Buffer.alloc(16)
  const at = pointerTo(rule)
  const add = (step, kind, allowed = []) =>
    check(step, withPointer.syscall(LANDLOCK_ADD_RULE, rules, kind, at, 0), allowed)
  const how = Buffer.alloc(24)
  how.writeUInt32LE(O_PATH | O_CLOEXEC, 0)
  how.writeUInt32LE(noLinks ? RESOLVE_NO_SYMLINKS : 0, 16)
  const howAt = pointerTo(how)
  const pointers = texts(paths.map(([path]) => path))
  paths.forEach(([path, rights], index) => {
    // A place that this user cannot reach is not granted.
    const opened = withPointers.syscall(OPENAT2, AT_FDCWD, pointers[index], howAt, 24)
    const fd = check(`to open ${path}`, opened, UNREACHABLE)
    if (fd === -1) return
    rule.writeInt32LE(fd, 8)
    const grant = (allowed, errors) => {
      rule.writeUInt32LE(allowed, 0)
      return allowed === 0 ? 0 : add(`landlock_add_rule for ${path}`, RULE_PATH_BENEATH, errors)
    }
    // The kernel refuses rights of folders on a file.
    if (grant(rights & files, [EINVAL]) === -1) grant(rights & files & onFiles)
    c.close(fd)
  })
  for (const [port, rights] of ports) {
    if ((rights & tcp) === 0) continue
    rule.writeBigUInt64LE(BigInt(rights & tcp), 0)
    rule.writeBigUInt64LE(BigInt(port), 8)
    add(`landlock_add_rule for port ${port}`, RULE_NET_PORT)
  }
  return rules
}

/** Of this process and of what it executes; its own sets are emptied later, with no-new-privileges. */
function dropCapabilities() {
  for (let capability = 0; capability < 64; capability++) {
    // EPERM: only a process with CAP_SETPCAP can. Without new privileges, nothing is gained from this set anyway.
    if (prctl('to drop capabilities', PR_CAPBSET_DROP, capability, [EINVAL, EPERM]) === -1) break
  }
  prctl('to drop capabilities', PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, [EINVAL])
}

function becomeUser({ uid, gid }) {
  check('setgroups', c.setgroups(0n, 0n))
  check('setresgid', c.setresgid(gid, gid, gid))
  check('setresuid', c.setresuid(uid, uid, uid))
}

/** Every descriptor but these is closed when the program starts. */
function keepOnly(descriptors) {
  if (call('close_range', [ENOSYS], CLOSE_RANGE, 3, 0xffff_ffff, CLOSE_RANGE_CLOEXEC) === -1) {
    for (const fd of readdirSync('/proc/self/fd').map(Number)) c.fcntl(fd, F_SETFD, BigInt(FD_CLOEXEC))
  }
  for (const fd of descriptors) check(`to keep descriptor ${fd}`, c.fcntl(fd, F_SETFD, 0n))
}

const nullAt = pointerTo(Buffer.from('/dev/null\0'))
function replaceByNothing(descriptors) {
  if (descriptors.length === 0) return
  const nothing = check('to open /dev/null', c.open(nullAt, constants.O_RDWR | O_CLOEXEC))
  for (const fd of descriptors) check(`to close descriptor ${fd}`, c.dup2(nothing, fd))
}

/** Node ignores some signals, and the program would, too. Its own handlers are gone then, which it does not need here. */
function resetSignals() {
  for (let signal = 1; signal <= SIGNALS; signal++) c.signal(signal, SIG_DFL)
  check('sigprocmask', c.sigprocmask(SIG_SETMASK, pointerTo(Buffer.alloc(128)), 0n))
}

/** The filter as the kernel takes it, in memory. */
function makeFilter(filter) {
  const program = Buffer.from(filter, 'base64')
  const header = Buffer.alloc(16)
  header.writeUInt16LE(program.length / 8, 0)
  header.writeBigUInt64LE(BigInt(pointerTo(program)), 8)
  return BigInt(pointerTo(header))
}

function vector(pointers) {
  const bytes = Buffer.alloc(8 * (pointers.length + 1))
  pointers.forEach((pointer, index) => bytes.writeBigUInt64LE(pointer, index * 8))
  return pointerTo(bytes)
}

/** What an order needs in memory and as descriptors. It binds nothing yet. */
function prepare({ argv, env, wall: { rules, filter } }) {
  const words = texts(argv)
  return {
    program: words[0], argv: vector(words), env: vector(texts(env)),
    ruleSet: rules === undefined ? undefined : makeRuleSet(rules),
    filter: filter === undefined ? undefined : makeFilter(filter),
  }
}

function obey(order) {
  const { cwd, parent, descriptors, nothing, wall: { limits, user } } = order
  // From here on the kernel kills it with its parent. The parent may have ended just before.
  if (parent !== undefined && process.ppid !== parent) fail('the start', 'the host has ended')
  if (cwd !== undefined) process.chdir(cwd)
  const { program, argv, env, ruleSet, filter } = prepare(order)
  replaceByNothing(nothing)
  if (user !== undefined) becomeUser(user)
  // A change of user clears it.
  prctl('to be tied to the host', PR_SET_PDEATHSIG, SIGKILL)
  prctl('no-new-privileges', PR_SET_NO_NEW_PRIVS, 1)
  check('to drop capabilities', c.capset(capabilities, noCapabilities))
  if (ruleSet !== undefined) call('landlock_restrict_self', [], LANDLOCK_RESTRICT_SELF, ruleSet, 0)
  keepOnly(descriptors)
  limit(limits)
  // The host distinguishes an executed program, whose start closes this, from a launcher that was killed. The host may
  // not listen.
  c.signal(SIGPIPE, SIG_IGN)
  c.write(orderFd, ready, 1n)
  c.signal(SIGPIPE, SIG_DFL)
  if (filter !== undefined) check('the seccomp filter', c.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter, 0n, 0n))
  check(`to execute ${order.argv[0]}`, c.execve(program, argv, env))
}

const decode = (bytes) => JSON.parse(bytes.toString('utf8'))

/** Code is slow when it runs for the first time. A spare has the time to do that before its order comes. */
function rehearse() {
  if (c.syscall(BigInt(LANDLOCK_CREATE_RULESET), 0n, 0n, 1n, 0n, 0n, 0n) < 1n) return
  const rules = {
    governed: [{ files: 1, tcp: 0, scopes: 0 }], leastAbi: 1, onFiles: 1, noLinks: true,
    paths: [['/', 1], ['/dev/null', 1], ['/dev/null/nothing', 1]], ports: [],
  }
  const bytes = Buffer.from(JSON.stringify({ argv: ['/'], env: ['A=B'], wall: { rules, filter: 'AAAAAAAAAAA=' } }))
  for (let time = 0; time < REHEARSALS; time++) c.close(prepare(decode(bytes)).ruleSet)
  keepOnly([0, 1, 2])
}

try {
  prctl('to be tied to the host', PR_SET_PDEATHSIG, SIGKILL)
  // Before the order, so that a spare has done it already.
  dropCapabilities()
  resetSignals()
  if (isSpare) rehearse()
  obey(decode(readOrder()))
} catch (error) {
  fail(error.syscall ?? 'the start', error.code ?? error.message)
}
