import {
  beyond, BulkheadError, ceilingsOf, checkRequirements, compileGrant, declaredCeiling, declaredPower,
  type ExtensionPower, type JailGrant, type LocalServerConfig, type RequirementSet, type ResolvedConfig,
  type ServerJail,
} from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import type { Json } from '@bulkhead/kit/json'

/** How to start a local server, with the values of its variables. Used for one attempt only. */
export interface LocalTarget {
  readonly command: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** undefined: the server runs with all rights of the user. */
  readonly jail: { readonly of: ServerJail; readonly grant: JailGrant } | undefined
}

export interface Surroundings {
  /** The working directory of local servers. */
  readonly workspace: string
  /** The environment of every local server, such as PATH. */
  readonly base: Readonly<Record<string, string>>
  /** Called for declared names only. */
  readonly env: (name: string) => string | undefined
  /** The folder of {user-data}. */
  readonly userData?: string
  /** Confines local servers. Without it, only those with `jail: false` start. */
  readonly jail?: ServerJail
}

/** Everything that a server in a jail may use. Each folder is granted with everything below it. */
function jailedRequires({ requires = {} }: Pick<LocalServerConfig, 'requires'>): RequirementSet {
  const { fs = { read: ['{workspace}'] }, net } = requires
  const below = (folders: readonly string[] = []) => folders.map((folder) => `${folder.replace(/\/(?:\*\*)?$/, '')}/**`)
  return { fs: { read: below([...fs.read ?? [], ...fs.write ?? []]), write: below(fs.write) }, ...(net && { net }) }
}

/** As the end of a sentence. */
export function findGrantFault(config: LocalServerConfig): string | undefined {
  try {
    checkRequirements(jailedRequires(config), 'server')
    return undefined
  } catch (error) {
    return `has an invalid grant: ${messageOf(error).replace(/\.$/, '')}`
  }
}

/** What identifies a local server: its command, the names of its variables and what it is granted. */
export function localIdentity(config: LocalServerConfig): Readonly<Record<string, Json>> {
  const grants: Readonly<Record<string, Json>> =
    config.jail === false ? { jail: false }
      : { requires: jailedRequires(config) as Json, ...(config.jail === 'files' && { jail: 'files' }) }
  return { command: config.command, env: (config.env ?? []).toSorted(), ...grants }
}

/** Throws CapabilityUnavailable if the server needs a jail and there is none. `noun`: the kind, in messages. */
export function localTarget(
  noun: string, { name, config }: { readonly name: string; readonly config: LocalServerConfig },
  surroundings: Surroundings,
): LocalTarget {
  const { workspace, base, env, jail } = surroundings
  const declared = (config.env ?? []).flatMap((variable) => {
    const value = env(variable)
    return value === undefined ? [] : [[variable, value] as const]
  })
  const isJailed = config.jail !== false
  if (isJailed && jail === undefined) {
    const message = `The ${noun} "${name}" runs in a jail, and this host has none. Set "jail": false in its entry.`
    throw new BulkheadError('CapabilityUnavailable', message, { data: { server: name } })
  }
  return {
    command: config.command, cwd: workspace, env: { ...base, ...Object.fromEntries(declared) },
    jail: isJailed && jail ? { of: jail, grant: grantOf(config, surroundings) } : undefined,
  }
}

/** What the jail of a server lets in, as absolute paths. */
export function grantOf(config: LocalServerConfig, { workspace, userData }: Surroundings): JailGrant {
  const values = { workspace: [workspace], ...(userData !== undefined && { 'user-data': [userData] }) }
  const { fs, net } = compileGrant(jailedRequires(config), values, {}, 'server')
  const folders = (patterns: readonly string[]) => patterns.map((pattern) => pattern.replace(/\/\*\*$/, ''))
  const acceptsNetwork = config.jail === 'files'
  return { read: folders(fs.read), write: folders(fs.write), hosts: net.hosts, ...(acceptsNetwork && { acceptsNetwork }) }
}

/** What a server may use. Without a jail it is a process of the user and can do more than can be declared here. */
export const localPowers = (config: LocalServerConfig): RequirementSet =>
  config.jail === false ? UNCONFINED
    : { ...jailedRequires(config), ...(config.jail === 'files' && { net: UNCONFINED.net }) }

const UNCONFINED: RequirementSet = {
  fs: { read: ['{workspace}/**', '{user-data}/**'], write: ['{workspace}/**', '{user-data}/**'] },
  net: { hosts: ['*'] }, shell: [{ cmd: '*', args: [{ rest: true }] }],
}

/** What a server can do beyond `policy.ceiling`, as text. undefined: nothing. */
export function beyondCeilings(
  requires: RequirementSet, given: ExtensionPower, config: ResolvedConfig,
): string | undefined {
  const power = declaredPower(requires, given)
  const more = ceilingsOf(config).flatMap(({ ceiling }) => beyond(power, declaredCeiling(ceiling)))
  return more.length === 0 ? undefined : more.map(({ kind, subject }) => `${kind}: ${subject}`).join('; ')
}
