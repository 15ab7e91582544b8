import {
  beyond, BulkheadError, carriesKeys, ceilingsOf, checkRequirements, compileGrant, declaredCeiling, declaredPower,
  hostOfKey, keyGrant,
  type DeniedPaths, type ExtensionPower, type JailGrant, type KeyGrant, type KeyUse, type LocalServerConfig,
  type RequirementSet, type ResolvedConfig, type ServerJail,
} from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { hostMatches } from '@bulkhead/kit/hosts'
import type { Json } from '@bulkhead/kit/json'

/** How to start a local server, with the values of its variables. Used for one attempt only. */
export interface LocalTarget {
  readonly command: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** undefined: the server runs with all rights of the user. */
  readonly jail: LocalJail | undefined
}

interface LocalJail {
  readonly of: ServerJail
  readonly grant: JailGrant
  readonly keys: readonly KeyGrant[]
  /** What rules deny. */
  readonly denied?: DeniedPaths | undefined
  /** Must not throw. */
  onKeyUse(use: KeyUse): void
}

/** A use of a key by a server. */
export interface ServerKeyUse extends KeyUse {
  readonly extensionId: string
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
  /** Called for each use of a key. Must not throw. */
  readonly onKeyUse?: (use: ServerKeyUse) => void
  /** What rules deny to a local server. Asked at each start. */
  readonly deniedTo?: (server: RuledServer) => DeniedPaths | undefined
}

/** A local server, as rules name its tools. */
export interface RuledServer {
  readonly kind: 'MCP server' | 'language server'
  readonly name: string
}

/** Everything that a server in a jail may use. Each folder is granted with everything below it. */
function jailedRequires({ requires = {}, keys = {} }: Pick<LocalServerConfig, 'requires' | 'keys'>): RequirementSet {
  const { fs = { read: ['{workspace}'] }, net: { hosts = [] } = {} } = requires
  const ofKeys = Object.values(keys).map(hostOfKey).filter((host) => !hostMatches(hosts, host))
  const all = [...hosts, ...new Set(ofKeys)]
  const below = (folders: readonly string[] = []) => folders.map((folder) => `${folder.replace(/\/(?:\*\*)?$/, '')}/**`)
  return {
    fs: { read: below([...fs.read ?? [], ...fs.write ?? []]), write: below(fs.write) },
    ...(all.length > 0 && { net: { hosts: all } }),
  }
}

function findKeyFault({ keys = {}, env = [], jail }: LocalServerConfig): string | undefined {
  if (Object.keys(keys).length === 0) return undefined
  if (jail === false) return 'has "keys", which stay out of a jail only; remove "jail": false, or use "env"'
  const twice = Object.keys(keys).find((name) => env.includes(name))
  if (twice !== undefined) return `has the variable ${twice} in both "env" and "keys"; remove one of them`
  const unfit = Object.entries(keys).find(([, { header }]) => !carriesKeys(header))
  return unfit && `cannot send the key ${unfit[0]} in the header ${unfit[1].header}; use another header`
}

/** As the end of a sentence. */
export function findGrantFault(config: LocalServerConfig): string | undefined {
  const fault = findKeyFault(config)
  if (fault !== undefined) return fault
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
  return {
    command: config.command, env: (config.env ?? []).toSorted(), ...grants,
    ...(config.keys && { keys: config.keys as unknown as Json }),
  }
}

interface LocalEntry {
  readonly name: string
  readonly extensionId: string
  readonly config: LocalServerConfig
}

/**
 * Throws CapabilityUnavailable if the server needs a jail and there is none, EnvNameNotSet if a key has no value, and
 * RuleDenied if rules deny files to a language server without a jail. `noun`: the kind, in messages.
 */
export function localTarget(
  noun: RuledServer['kind'], { name, extensionId, config }: LocalEntry,
  surroundings: Surroundings,
): LocalTarget {
  const { workspace, base, env, jail, onKeyUse } = surroundings
  const declared = (config.env ?? []).flatMap((variable) => {
    const value = env(variable)
    return value === undefined ? [] : [[variable, value] as const]
  })
  const isJailed = config.jail !== false
  if (isJailed && jail === undefined) {
    const message = `The ${noun} "${name}" runs in a jail, and this host has none. Set "jail": false in its entry.`
    throw new BulkheadError('CapabilityUnavailable', message, { data: { server: name } })
  }
  const denied = surroundings.deniedTo?.({ kind: noun, name })
  // Calls of an MCP server without a jail are denied before they reach it.
  if (!isJailed && denied?.rule !== undefined && noun === 'language server') {
    const message = `The ${noun} "${name}" was not started: ${denied.rule} denies files, and it is not confined. Remove `
      + '"jail": false from its entry, or change the rule.'
    throw new BulkheadError('RuleDenied', message, { data: { server: name } })
  }
  return {
    command: config.command, cwd: workspace, env: { ...base, ...Object.fromEntries(declared) },
    jail: isJailed && jail
      ? {
        of: jail, grant: grantOf(config, surroundings), keys: keysOf(noun, name, config, env),
        denied,
        onKeyUse: (use) => onKeyUse?.({ extensionId, ...use }),
      }
      : undefined,
  }
}

function keysOf(
  noun: string, server: string, { keys = {} }: LocalServerConfig, env: Surroundings['env'],
): readonly KeyGrant[] {
  return Object.entries(keys).map(([name, key]) => {
    const value = env(name)
    if (value !== undefined && value !== '') return keyGrant(name, value, key)
    const message = `The ${noun} "${server}" uses the key ${name}, and that variable is not set. Set it for the host.`
    throw new BulkheadError('EnvNameNotSet', message, { data: { name } })
  })
}

/** The variables and keys that a local server is given. */
export const localGiven = ({ env = [], keys = {} }: LocalServerConfig): ExtensionPower =>
  ({ env, secrets: Object.entries(keys).map(([name, key]) => ({ name, hosts: [hostOfKey(key)] })) })

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
