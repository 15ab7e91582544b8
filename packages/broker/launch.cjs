'use strict'
// The launcher: puts the wall of its order around itself, then becomes the program of the order. It is JavaScript,
// because stripping types would take longer than everything else here. `src/walls/launcher.ts` writes the orders.
const { getBuiltinModule } = process
const { dlopen, getInt32, getRawPointer } = getBuiltinModule('node:ffi')
const { closeSync, constants, fstatSync, openSync, readdirSync, readlinkSync, readSync, writeSync } = getBuiltinModule('node:fs')
const { getSystemErrorName } = getBuiltinModule('node:util')

const FAILED = 125
const PR_SET_PDEATHSIG = 1
const PR_SET_SECCOMP = 22
const PR_CAPBSET_DROP = 24
const PR_SET_NO_NEW_PRIVS = 38
const PR_CAP_AMBIENT = 47
const PR_CAP_AMBIENT_CLEAR_ALL = 4
const SECCOMP_MODE_FILTER = 2
const SIGKILL = 9
const SIGPIPE = 13
const SIG_DFL = 0n
const SIG_IGN = 1n
const SIGNALS = 64
const SIG_SETMASK = 2
const F_SETFD = 2
const FD_CLOEXEC = 1
const EINVAL = 22
const EPERM = 1
const ENOSYS = 38
// The same on x64 and arm64.
const LANDLOCK_CREATE_RULESET = 444
const LANDLOCK_ADD_RULE = 445
const LANDLOCK_RESTRICT_SELF = 446
const CLOSE_RANGE = 436
const CLOSE_RANGE_CLOEXEC = 4
const RULE_PATH_BENEATH = 1
const RULE_NET_PORT = 2
const O_PATH = 0o10000000
const CAPABILITY_VERSION_3 = 0x2008_0522
// Numbers of the kernel, by the names of `prlimit`.
const RESOURCES = { cpu: 0, fsize: 1, data: 2, core: 4, nproc: 6, nofile: 7, memlock: 8, as: 9, locks: 10, msgqueue: 12 }

const orderFd = Number(process.argv[2])
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
  fcntl: integers('i32', 'i32', 'i64'),
  dup2: integers('i32', 'i32'),
  signal: { arguments: ['i32', 'pointer'], return: 'pointer' },
  sigprocmask: integers('i32', 'pointer', 'pointer'),
  execve: integers('pointer', 'pointer', 'pointer'),
  _exit: { arguments: ['i32'], return: 'void' },
  __errno_location: { arguments: [], return: 'pointer' },
})

/** Nothing runs without its wall: a step that fails ends the launcher, and says which. */
function fail(step, code) {
  const report = JSON.stringify({ step, code })
  tell(orderFd, report)
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

const errno = () => getInt32(errnoAt())
const nameOf = (number) => getSystemErrorName(-number)
/** Ends the launcher if the call failed with an error that is not `allowed`. */
function check(step, result, allowed = []) {
  if (Number(result) !== -1) return Number(result)
  const number = errno()
  if (!allowed.includes(number)) fail(step, nameOf(number))
  return -1
}
const call = (step, allowed, ...args) =>
  check(step, c.syscall(...args.map(BigInt), ...Array(7 - args.length).fill(0n)), allowed)
const prctl = (step, option, value = 0, allowed = []) =>
  check(step, c.prctl(option, BigInt(value), 0n, 0n, 0n), allowed)

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
  return JSON.parse(exactly(exactly(4).readUInt32LE(0)).toString('utf8'))
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
  for (const [path, rights] of paths) {
    const fd = openPlace(path)
    if (fd === undefined) continue
    if (noLinks && readlinkSync(`/proc/self/fd/${fd}`) !== path) {
      closeSync(fd)
      continue
    }
    const allowed = rights & files & (fstatSync(fd).isDirectory() ? -1 : onFiles)
    rule.writeBigUInt64LE(BigInt(allowed), 0)
    rule.writeInt32LE(fd, 8)
    if (allowed !== 0) call(`landlock_add_rule for ${path}`, [], LANDLOCK_ADD_RULE, rules, RULE_PATH_BENEATH, at, 0)
    closeSync(fd)
  }
  for (const [port, rights] of ports) {
    if ((rights & tcp) === 0) continue
    rule.writeBigUInt64LE(BigInt(rights & tcp), 0)
    rule.writeBigUInt64LE(BigInt(port), 8)
    call(`landlock_add_rule for port ${port}`, [], LANDLOCK_ADD_RULE, rules, RULE_NET_PORT, at, 0)
  }
  return rules
}

/** undefined for a place that this user cannot reach: it is not granted then. */
function openPlace(path) {
  try {
    return openSync(path, O_PATH | constants.O_NOCTTY)
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP', 'ENAMETOOLONG'].includes(error.code)) fail(`to open ${path}`, error.code)
    return undefined
  }
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

function replaceByNothing(descriptors) {
  if (descriptors.length === 0) return
  const nothing = openSync('/dev/null', constants.O_RDWR)
  for (const fd of descriptors) check(`to close descriptor ${fd}`, c.dup2(nothing, fd))
}

/** Node ignores some signals, and the program would, too. Its own handlers are gone then, which it does not need here. */
function resetSignals() {
  for (let signal = 1; signal <= SIGNALS; signal++) c.signal(signal, SIG_DFL)
  check('sigprocmask', c.sigprocmask(SIG_SETMASK, pointerTo(Buffer.alloc(128)), 0n))
}

function filterCalls(filter) {
  const program = Buffer.from(filter, 'base64')
  const header = Buffer.alloc(16)
  header.writeUInt16LE(program.length / 8, 0)
  header.writeBigUInt64LE(BigInt(pointerTo(program)), 8)
  check('the seccomp filter', c.prctl(PR_SET_SECCOMP, BigInt(SECCOMP_MODE_FILTER), BigInt(pointerTo(header)), 0n, 0n))
}

const text = (value) => pointerTo(Buffer.from(`${value}\0`))
function vector(values) {
  const pointers = Buffer.alloc(8 * (values.length + 1))
  values.forEach((value, index) => pointers.writeBigUInt64LE(BigInt(text(value)), index * 8))
  return pointerTo(pointers)
}

function obey({ argv, env, cwd, parent, descriptors, nothing, wall: { rules, filter, limits, user } }) {
  // From here on the kernel kills it with its parent. The parent may have ended just before.
  if (parent !== undefined && process.ppid !== parent) fail('the start', 'the host has ended')
  if (cwd !== undefined) process.chdir(cwd)
  const [file, args, variables] = [text(argv[0]), vector(argv), vector(env)]
  const ruleSet = rules === undefined ? undefined : makeRuleSet(rules)
  replaceByNothing(nothing)
  if (user !== undefined) becomeUser(user)
  // A change of user clears it.
  prctl('to be tied to the host', PR_SET_PDEATHSIG, SIGKILL)
  prctl('no-new-privileges', PR_SET_NO_NEW_PRIVS, 1)
  const header = Buffer.alloc(8)
  header.writeUInt32LE(CAPABILITY_VERSION_3, 0)
  check('to drop capabilities', c.capset(pointerTo(header), pointerTo(Buffer.alloc(24))))
  if (ruleSet !== undefined) call('landlock_restrict_self', [], LANDLOCK_RESTRICT_SELF, ruleSet, 0)
  keepOnly(descriptors)
  limit(limits)
  // The host distinguishes an executed program, whose start closes this, from a launcher that was killed.
  tell(orderFd, '+')
  c.signal(SIGPIPE, SIG_DFL)
  if (filter !== undefined) filterCalls(filter)
  check(`to execute ${argv[0]}`, c.execve(file, args, variables))
}

try {
  prctl('to be tied to the host', PR_SET_PDEATHSIG, SIGKILL)
  // Before the order, so that a spare has done it already.
  dropCapabilities()
  resetSignals()
  obey(readOrder())
} catch (error) {
  fail(error.syscall ?? 'the start', error.code ?? error.message)
}
