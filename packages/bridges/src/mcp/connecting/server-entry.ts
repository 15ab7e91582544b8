import {
  BulkheadError, checkRequirements, compileGrant, type JailGrant, type McpServerConfig, type RequirementSet,
  type ResolvedConfig, type ServerJail,
} from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import {
  entriesOf, findSecretFault, sha512, shownUrl, type Entries, type Entry, type EntryKind,
} from '../../connected/entries.ts'
import type { OauthSettings } from './sign-in/account.ts'

/**
 * A server of the configuration. Its identity covers the command or URL, what it is granted, and the names of variables
 * and secrets, not their values.
 */
export interface ServerEntry extends Entry<McpServerConfig> {
  /** The command line or the URL, for display. */
  readonly address: string
}

const SERVERS: EntryKind<McpServerConfig, ServerEntry> = {
  key: 'mcp', noun: 'server',
  read: ({ mcp }) => mcp,
  make: (entry) => ({
    ...entry,
    identity: sha512(canonicalJson(identityOf(entry.config))),
    address: entry.config.type === 'local' ? entry.config.command.join(' ') : shownUrl(entry.config.url),
  }),
  findFault: (config) => {
    if (config.type === 'local') return findGrantFault(config)
    const { url, headers = {}, oauth } = config
    if (oauth && sendsAuthorization(headers)) return 'has both "oauth" and the header Authorization; remove one of them'
    if (oauth?.clientSecret && oauth.clientId === undefined) return 'has a clientSecret without a clientId'
    return findSecretFault(url, Object.keys(headers).length > 0 || oauth !== undefined)
  },
}

export const serverEntries = (config: Pick<ResolvedConfig, 'layers'>): Entries<ServerEntry> =>
  entriesOf(config, SERVERS)

type LocalConfig = Extract<McpServerConfig, { readonly type: 'local' }>

export const isJailed = (config: McpServerConfig): config is LocalConfig =>
  config.type === 'local' && config.jail !== false

/** Everything that a server in a jail may use. Each folder is granted with everything below it. */
export function jailedRequires({ requires = {} }: LocalConfig): RequirementSet {
  const { fs = { read: ['{workspace}'] }, net } = requires
  const below = (folders: readonly string[] = []) => folders.map((folder) => `${folder.replace(/\/(?:\*\*)?$/, '')}/**`)
  return { fs: { read: below([...fs.read ?? [], ...fs.write ?? []]), write: below(fs.write) }, ...(net && { net }) }
}

function findGrantFault(config: LocalConfig): string | undefined {
  try {
    checkRequirements(jailedRequires(config), 'server')
    return undefined
  } catch (error) {
    return `has an invalid grant: ${messageOf(error).replace(/\.$/, '')}`
  }
}

function identityOf(config: McpServerConfig): Json {
  if (config.type === 'local') {
    const grants = isJailed(config) ? { requires: jailedRequires(config) as Json } : { jail: false }
    return { type: 'local', command: config.command, env: (config.env ?? []).toSorted(), ...grants }
  }
  const { url, headers = {}, oauth } = config
  return { type: 'remote', url, headers, ...(oauth && { oauth }) } as unknown as Json
}

/** How to connect to a server, with the values of its variables and secrets. Used for one attempt only. */
export type Target = LocalTarget | {
  readonly type: 'remote'; readonly url: URL; readonly headers: Strings
  /** undefined if the headers authorize, or the connection is not safe for tokens. */
  readonly oauth: OauthSettings | undefined
}

export interface LocalTarget {
  readonly type: 'local'
  readonly command: readonly string[]
  readonly cwd: string
  readonly env: Strings
  /** undefined: the server runs with all rights of the user. */
  readonly jail: { readonly of: ServerJail; readonly grant: JailGrant } | undefined
}

type Strings = Readonly<Record<string, string>>

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

/**
 * Throws EnvNameNotSet if the secret of a header is not set: without it, the request would use another identity. Throws
 * CapabilityUnavailable if a local server needs a jail and there is none.
 */
export function targetOf({ name, config }: ServerEntry, surroundings: Surroundings): Target {
  const { workspace, base, env, jail } = surroundings
  if (config.type === 'local') {
    const declared = (config.env ?? []).flatMap((variable) => {
      const value = env(variable)
      return value === undefined ? [] : [[variable, value] as const]
    })
    if (isJailed(config) && jail === undefined) {
      const message = `The MCP server "${name}" runs in a jail, and this host has none. Set "jail": false in its entry.`
      throw new BulkheadError('CapabilityUnavailable', message, { data: { server: name } })
    }
    return {
      type: 'local', command: config.command, cwd: workspace, env: { ...base, ...Object.fromEntries(declared) },
      jail: isJailed(config) && jail ? { of: jail, grant: grantOf(config, surroundings) } : undefined,
    }
  }
  const valueOf = (what: string, secret: string): string => {
    const value = env(secret)
    if (value !== undefined) return value
    const message = `The ${what} of the MCP server "${name}" uses the variable ${secret}, which is not set.`
    throw new BulkheadError('EnvNameNotSet', message, { data: { name: secret } })
  }
  const headers = Object.entries(config.headers ?? {})
    .map(([header, { secret }]) => [header, valueOf(`header "${header}"`, secret)] as const)
  const { clientSecret, ...oauth } = config.oauth ?? {}
  const canSignIn = !sendsAuthorization(config.headers ?? {}) && findSecretFault(config.url, true) === undefined
  return {
    type: 'remote', url: new URL(config.url), headers: Object.fromEntries(headers),
    oauth: canSignIn
      ? { ...oauth, ...(clientSecret && { clientSecret: valueOf('client secret', clientSecret.secret) }) }
      : undefined,
  }
}

const sendsAuthorization = (headers: object): boolean =>
  Object.keys(headers).some((header) => header.toLowerCase() === 'authorization')

/** What the jail of a server lets in, as absolute paths. */
export function grantOf(config: LocalConfig, { workspace, userData }: Surroundings): JailGrant {
  const values = { workspace: [workspace], ...(userData !== undefined && { 'user-data': [userData] }) }
  const { fs, net } = compileGrant(jailedRequires(config), values, {}, 'server')
  const folders = (patterns: readonly string[]) => patterns.map((pattern) => pattern.replace(/\/\*\*$/, ''))
  return { read: folders(fs.read), write: folders(fs.write), hosts: net.hosts }
}

/** The secret values of a target: headers, and the variables named for this server. */
export function secretsOf({ config }: ServerEntry, { env }: Pick<Surroundings, 'env'>): ReadonlyMap<string, string> {
  const names = config.type === 'local'
    ? config.env ?? []
    : [...Object.values(config.headers ?? {}), ...[config.oauth?.clientSecret ?? []].flat()].map(({ secret }) => secret)
  const values = names.map((name) => [name, env(name) ?? ''] as const)
  return new Map(values.filter(([, value]) => value.length >= SHORTEST))
}

/** Shorter values are not redacted: they would match ordinary words. */
const SHORTEST = 8
