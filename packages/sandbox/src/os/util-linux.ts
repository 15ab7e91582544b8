import { readlinkSync } from 'node:fs'
import {
  inactive, type OsLayer, type UtilLinuxMeans, type PrivilegeMeans, type NamespaceMeans, type InsideReport,
} from './os-layer.ts'

// How util-linux confines a hull without bubblewrap.
export const NAMESPACES = ['net', 'ipc', 'pid'] as const

/** The hull is killed when the process that started it ends. */
const TIED = ['--pdeathsig', 'KILL']
const NO_GAIN = ['--no-new-privs', ...TIED, '--inh-caps=-all']
const NO_CAPABILITIES = [...NO_GAIN, '--bounding-set=-all']
export const NOBODY = '65534'
const OTHER_USER = [...NO_CAPABILITIES, '--reuid', NOBODY, '--regid', NOBODY, '--clear-groups']

const SEPARATE = [...NAMESPACES.map((name) => `--${name}`), '--fork']
const OWN_PROC = [...SEPARATE, '--mount-proc']
/** Allows the other namespaces without being root. Root inside can only drop capabilities. */
const AS_USER = ['--user', '--map-root-user']

/**
 * The first process of a PID namespace ignores signals from inside, so Node is the second. The shell exits as Node
 * does; its message about a signal is dropped.
 */
const FIRST_PROCESS = 'exec 9>&2 2>/dev/null; "$@" 2>&9 9>&-; exit $?'

/** Forms of `setpriv`, the strictest first. Only root can become another user. */
const privilegeForms = (isRoot: boolean): readonly Omit<PrivilegeMeans, 'path'>[] => [
  ...(isRoot ? [{ options: OTHER_USER, dropsCapabilities: true, isOtherUser: true }] : []),
  { options: NO_CAPABILITIES, dropsCapabilities: true, isOtherUser: false },
  { options: NO_GAIN, dropsCapabilities: false, isOtherUser: false },
]

/** Sets of options for `unshare`, the strictest first. */
const namespaceOptions = (isRoot: boolean): readonly (readonly string[])[] =>
  [...(isRoot ? [OWN_PROC, SEPARATE] : []), [...AS_USER, ...OWN_PROC], [...AS_USER, ...SEPARATE]]

/**
 * The arguments before a program in its own namespaces. `drop` runs the first process there; it must tie that to
 * `unshare`, which would leave it behind otherwise.
 */
export function namespaceArgs(
  { setpriv, path, options, shell }: NamespaceMeans, drop?: readonly string[],
): readonly string[] {
  const tie = [setpriv, ...TIED, '--']
  return [...tie, path, ...options, '--', ...drop ?? tie, shell, '-c', FIRST_PROCESS, 'sh']
}

/** The arguments before `node`. */
export function utilLinuxArgs({ setpriv, namespaces }: UtilLinuxMeans): readonly string[] {
  const drop = [setpriv.path, ...setpriv.options, '--']
  return namespaces.active ? namespaceArgs(namespaces, drop) : drop
}

/** What a layer promises that a process can see about itself. */
export interface InsidePromises {
  /** The sets of capabilities that must be empty. */
  readonly emptySets: readonly string[]
  readonly isOtherUser: boolean
  readonly namespaces: OsLayer<NamespaceMeans>
}

export const promisesOf = (
  { setpriv: { dropsCapabilities, isOtherUser }, namespaces }: UtilLinuxMeans,
): InsidePromises => ({ emptySets: dropsCapabilities ? ['CapEff', 'CapPrm', 'CapBnd'] : [], isOtherUser, namespaces })

/** The part that does not work, according to the report from inside. Undefined when all parts do. */
export function findFault(
  { emptySets, isOtherUser, namespaces }: InsidePromises, inside: InsideReport | null,
): string | undefined {
  if (inside === null) return 'it cannot be checked, because /proc is not mounted'
  const { status } = inside
  const says = (line: string): boolean => new RegExp(`^${line}$`, 'm').test(status)
  if (!says('NoNewPrivs:\\s+1')) return 'a program can still gain privileges inside'
  if (!emptySets.every((set) => says(`${set}:\\s+0+`))) return 'capabilities are left inside'
  if (isOtherUser && !says(`Uid:(?:\\s+${NOBODY}){4}`)) return 'it is still the user of the host'
  if (!namespaces.active) return undefined
  const shared = NAMESPACES.filter((name, index) => inside.namespaces[index] === readlinkSync(`/proc/self/ns/${name}`))
  return shared.length === 0 ? undefined : `the host's own namespaces can be seen inside: ${shared.join(', ')}`
}

export interface LayerTrial<Means> {
  readonly isRoot: boolean
  find(program: string): Promise<OsLayer<{ readonly path: string }>>
  /** Starts a hull with the layer. Returns why it failed, if it did. */
  failureOf(layer: OsLayer<Means>): Promise<string | undefined>
}

/** The strictest form that works here. */
export async function provenUtilLinux(trial: LayerTrial<UtilLinuxMeans>): Promise<OsLayer<UtilLinuxMeans>> {
  const setpriv = await trial.find('setpriv')
  if (!setpriv.active) return setpriv
  const forms = privilegeForms(trial.isRoot).map((form) => ({ setpriv: { path: setpriv.path, ...form } }))
  return provenForm(trial, forms)
}

/** The first of these forms that works, in the strictest namespaces that do. Namespaces count for more. */
export async function provenForm<
  Form extends object, Means extends Form & { readonly namespaces: OsLayer<NamespaceMeans> },
>(
  { isRoot, find, failureOf }: LayerTrial<Means>, forms: readonly Form[],
): Promise<OsLayer<Means>> {
  const [setpriv, unshare, shell] = await Promise.all([find('setpriv'), find('unshare'), find('sh')])
  const missing = [setpriv, unshare, shell].find(({ active }) => !active)
  let unseparated = missing?.active === false ? missing.reason : ''
  let failure: string | undefined
  const separate = setpriv.active && unshare.active && shell.active
    ? namespaceOptions(isRoot).map((options): OsLayer<NamespaceMeans> =>
      ({ active: true, setpriv: setpriv.path, path: unshare.path, options, shell: shell.path }))
    : []
  for (const namespaces of [...separate, undefined]) {
    for (const form of forms) {
      const separated = { active: true, ...form, namespaces: namespaces ?? inactive(unseparated) }
      const layer = separated as unknown as OsLayer<Means>
      failure = await failureOf(layer)
      if (failure === undefined) return layer
    }
    if (namespaces !== undefined) unseparated = failure!
  }
  return inactive(failure!)
}
