import { readFile } from 'node:fs/promises'
import { release } from 'node:os'
import { NO_PRIVILEGES, READ_ONLY_PROC, serverFilter } from '@bulkhead/broker'
import { succeeds } from '@bulkhead/kit/processes'
import { hardLimits, installed } from '../os/installed-layers.ts'
import { ETC_FILES, JAIL_HOME, systemArgs } from './mounts.ts'

const MB = 1024 * 1024

/** What all processes of one server may use together. */
export const TREE_LIMITS = { tasks: 512, memoryMb: 2048 } as const

/** Each of the private folders, which are in memory. */
const PRIVATE_BYTES = 256 * MB
const SHARED_MEMORY_BYTES = 64 * MB
/** In memory, with the space they have. Older versions of bubblewrap cannot limit it; the watch counts the content. */
const PRIVATE_SIZES = new Map([['/dev/shm', SHARED_MEMORY_BYTES], ['/tmp', PRIVATE_BYTES], [JAIL_HOME, PRIVATE_BYTES]])
export const PRIVATE_FOLDERS: readonly string[] = [...PRIVATE_SIZES.keys()]

/** Of one process. RLIMIT_DATA counts what a process reserves; Node reserves half a gigabyte when idle. */
export const PROCESS_LIMITS: readonly (readonly [resource: string, most: number])[] = [
  ['data', (TREE_LIMITS.memoryMb + 1024) * MB], ['fsize', 1024 * MB], ['nofile', 4096], ['cpu', 3600], ['core', 0],
  ['msgqueue', 0],
]

/** From this version of Linux on, processes are counted per user namespace. Before, all of the user would count. */
const COUNTING_KERNEL = [5, 14] as const

/** The programs that make a jail on this machine, and what they support. */
export interface JailMeans {
  readonly bwrap: string
  readonly prlimit: string
  /** The host's own hard limits, which only root can exceed. */
  readonly hard: ReadonlyMap<string, number>
  /** Absent where the kernel has no seccomp, or the architecture is unknown. */
  readonly filter: Uint8Array | undefined
  readonly form: JailForm
}

/** Options that older versions of bubblewrap, or some containers, do not support. */
interface JailForm {
  readonly refusesNamespaces: boolean
  readonly hasProc: boolean
  readonly limitsSize: boolean
}

/** The strictest first. */
const FORMS: readonly JailForm[] = [true, false].flatMap((hasProc) => [
  { hasProc, refusesNamespaces: true, limitsSize: true }, { hasProc, refusesNamespaces: false, limitsSize: true },
  { hasProc, refusesNamespaces: false, limitsSize: false },
])

/** The strictest form that works here, or why none does. Rejects during a shortage of resources. */
export async function findMeans(folders: readonly string[]): Promise<JailMeans | string> {
  if (process.platform !== 'linux') return 'the file system can be confined on Linux only'
  const [bwrap, prlimit, trial] = await Promise.all([
    installed('bwrap', folders, {}), installed('prlimit', folders, {}), installed('true', folders, {}),
  ])
  if (!bwrap.active) return bwrap.reason
  if (!prlimit.active) return prlimit.reason
  if (!trial.active) return trial.reason
  const status = await readFile('/proc/self/status', 'latin1').catch(() => '')
  const filter = /^Seccomp:/m.test(status) ? serverFilter(process.arch) : undefined
  const hard = await hardLimits()
  for (const form of FORMS) {
    const means = { bwrap: bwrap.path, prlimit: prlimit.path, hard, filter, form }
    const argv = [prlimit.path, ...limitArgs(means), '--', bwrap.path, ...wallArgs(form), '--remount-ro', '/']
    if (await succeeds([...argv, '--', trial.path])) return means
  }
  return 'bubblewrap does not work on this machine'
}

/** From descriptor 3 on. */
export const jailData = ({ filter }: JailMeans): readonly Uint8Array[] =>
  [...ETC_FILES.map(([, content]) => Buffer.from(content)), ...(filter === undefined ? [] : [filter])]

export const FIRST_DESCRIPTOR = 3

/** The command that runs another one in a jail with these mounts, in this folder of it. */
export const jailCommand = (
  means: JailMeans, mounts: readonly string[], folder: string, command: readonly string[],
): readonly string[] => [
  means.prlimit, ...limitArgs(means), '--',
  means.bwrap, ...wallArgs(means.form),
  ...ETC_FILES.flatMap(([file], index) => ['--ro-bind-data', String(FIRST_DESCRIPTOR + index), file]),
  ...(means.filter === undefined ? [] : ['--seccomp', String(FIRST_DESCRIPTOR + ETC_FILES.length)]),
  ...mounts, '--remount-ro', '/', '--chdir', folder, '--', ...taskLimit(means), ...command,
]

const limitArgs = ({ hard }: Pick<JailMeans, 'hard'>): readonly string[] =>
  PROCESS_LIMITS.map(([resource, most]) => `--${resource}=${Math.min(most, hard.get(resource) ?? Infinity)}`)

/** Inside, where the user has no other processes. The kernel exempts root, the watch of the whole tree does not. */
function taskLimit({ prlimit }: JailMeans): readonly string[] {
  const [major = 0, minor = 0] = release().split('.').map(Number)
  const [least, lesser] = COUNTING_KERNEL
  const counts = major > least || (major === least && minor >= lesser)
  return counts ? [prlimit, `--nproc=${TREE_LIMITS.tasks}`, '--'] : []
}

/** No `--new-session`: the server leads a session already. /dev is read-only: it is in memory without a limit. */
function wallArgs({ refusesNamespaces, hasProc, limitsSize }: JailForm): readonly string[] {
  const inMemory = (folder: string) =>
    [...(limitsSize ? ['--size', String(PRIVATE_SIZES.get(folder))] : []), '--tmpfs', folder]
  return [
    '--unshare-all', '--unshare-user', ...(refusesNamespaces ? ['--disable-userns'] : []),
    '--uid', '1000', '--gid', '1000', '--hostname', 'server', ...NO_PRIVILEGES,
    ...systemArgs(),
    '--dev', '/dev', '--remount-ro', '/dev', ...inMemory('/dev/shm'),
    ...(hasProc ? READ_ONLY_PROC : []),
    ...inMemory('/tmp'), ...inMemory(JAIL_HOME),
  ]
}
