import { readFileSync, readlinkSync, statSync } from 'node:fs'
import { release } from 'node:os'
import { join } from 'node:path'
import { PROGRAM_FOLDERS } from './programs.ts'

/** The programs that walls are made of. */
const PROGRAMS = ['bwrap', 'prlimit', 'setpriv', 'unshare', 'sh']
/** Whether a user may have namespaces. */
const SWITCHES = [
  'kernel/unprivileged_userns_clone', 'kernel/apparmor_restrict_unprivileged_userns', 'user/max_user_namespaces',
]

/**
 * Changes with what the trial of a wall depends on: kernel, start of the system, container, user, rights of the process,
 * Node, and the programs of the system. A file that was replaced or written has another inode or another time of
 * change, which only root can set. `others`: further files it depends on. Undefined where the start of the system is not
 * known.
 */
export function thisMachine(others: readonly string[] = []): string | undefined {
  const started = orNothing(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim())
  if (started === undefined) return undefined
  return JSON.stringify([
    started, release(), process.version, process.getuid?.(), process.getgid?.(), process.permission !== undefined,
    // Containers share the kernel.
    ...['mnt', 'user', 'pid', 'net'].map((kind) => orNothing(() => readlinkSync(`/proc/self/ns/${kind}`))),
    ...SWITCHES.map((name) => orNothing(() => readFileSync(`/proc/sys/${name}`, 'utf8').trim())),
    orNothing(() => readFileSync('/sys/kernel/security/lsm', 'utf8')),
    orNothing(() => readFileSync('/proc/self/status', 'latin1').match(/^(?:CapEff|CapBnd|Seccomp|NoNewPrivs):.*$/gm)),
    ...[process.execPath, ...others, ...PROGRAM_FOLDERS.flatMap((folder) => PROGRAMS.map((name) => join(folder, name)))]
      .map(stampOf),
  ])
}

const stampOf = (path: string): string | undefined => orNothing(() => {
  const { dev, ino, size, mode, uid, mtimeNs, ctimeNs } = statSync(path, { bigint: true })
  return [path, dev, ino, size, mode, uid, mtimeNs, ctimeNs].join()
})

function orNothing<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
