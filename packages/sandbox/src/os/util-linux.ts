import { readlinkSync } from 'node:fs'
import type { OsLayer } from './os-layer.ts'

/** The walls that util-linux can put around a hull where bubblewrap is missing. */
export interface UtilLinuxMeans {
  readonly setpriv: PrivilegeMeans
  /** Namespaces of its own for network, IPC and processes. */
  readonly namespaces: OsLayer<NamespaceMeans>
}

export interface Program {
  readonly path: string
  readonly options: readonly string[]
}

/** Of `setpriv`: always no way to gain privileges. */
export interface PrivilegeMeans extends Program {
  /** Whether no capability is left, not even one to be gained. */
  readonly dropsCapabilities: boolean
  /** Whether it runs as a user who owns nothing. */
  readonly isOtherUser: boolean
}

export interface NamespaceMeans extends Program {
  /** Of `sh`, the first process of the namespace. */
  readonly shell: string
}

/** What a process says about itself, from inside. */
export interface Standing {
  /** /proc/self/status */
  readonly status: string
  /** Links of /proc/self/ns, by the names in NAMESPACES. */
  readonly namespaces: readonly string[]
}

export const NAMESPACES = ['net', 'ipc', 'pid'] as const

/** The hull dies with the process that started it. */
const TIED = ['--pdeathsig', 'KILL']
const NO_GAIN = ['--no-new-privs', ...TIED, '--inh-caps=-all']
const NO_CAPABILITIES = [...NO_GAIN, '--bounding-set=-all']
const NOBODY = '65534'
const OTHER_USER = [...NO_CAPABILITIES, '--reuid', NOBODY, '--regid', NOBODY, '--clear-groups']

const SEPARATE = [...NAMESPACES.map((name) => `--${name}`), '--fork']
const OWN_PROC = [...SEPARATE, '--mount-proc']
/** Creates the other namespaces without being root. Root inside keeps the right to give up capabilities, and nothing else. */
const AS_USER = ['--user', '--map-root-user']

/**
 * The first process of a PID namespace ignores signals from inside it, its own included, so Node is the second. The shell ends
 * as Node does; its own message about a signal is dropped.
 */
const FIRST_PROCESS = 'exec 9>&2 2>/dev/null; "$@" 2>&9 9>&-; exit $?'

/** Forms of `setpriv`, the strictest first. Root alone can become another user. */
export const privilegeForms = (isRoot: boolean): readonly Omit<PrivilegeMeans, 'path'>[] => [
  ...(isRoot ? [{ options: OTHER_USER, dropsCapabilities: true, isOtherUser: true }] : []),
  { options: NO_CAPABILITIES, dropsCapabilities: true, isOtherUser: false },
  { options: NO_GAIN, dropsCapabilities: false, isOtherUser: false },
]

/** Sets of options for `unshare`, the strictest first. */
export const namespaceOptions = (isRoot: boolean): readonly (readonly string[])[] =>
  [...(isRoot ? [OWN_PROC, SEPARATE] : []), [...AS_USER, ...OWN_PROC], [...AS_USER, ...SEPARATE]]

/** What stands before Node. */
export function utilLinuxArgs({ setpriv, namespaces }: UtilLinuxMeans): readonly string[] {
  const drop = [setpriv.path, ...setpriv.options, '--']
  if (!namespaces.active) return drop
  const { path, options, shell } = namespaces
  return [setpriv.path, ...TIED, '--', path, ...options, '--', ...drop, shell, '-c', FIRST_PROCESS, 'sh']
}

/** Which of the walls does not stand, judged by what the process inside says about itself. */
export function notStanding({ setpriv, namespaces }: UtilLinuxMeans, standing: Standing | null): string | undefined {
  if (standing === null) return 'it cannot be checked, because /proc is not mounted'
  const { status } = standing
  const says = (line: string): boolean => new RegExp(`^${line}$`, 'm').test(status)
  if (!says('NoNewPrivs:\\s+1')) return 'a program can still gain privileges inside'
  const hasNone = ['CapEff', 'CapPrm', 'CapBnd'].every((set) => says(`${set}:\\s+0+`))
  if (setpriv.dropsCapabilities && !hasNone) return 'capabilities are left inside'
  if (setpriv.isOtherUser && !says(`Uid:(?:\\s+${NOBODY}){4}`)) return 'it is still the user of the host'
  if (!namespaces.active) return undefined
  const shared = NAMESPACES.filter((name, index) => standing.namespaces[index] === readlinkSync(`/proc/self/ns/${name}`))
  return shared.length === 0 ? undefined : `the host's own namespaces can be seen inside: ${shared.join(', ')}`
}
