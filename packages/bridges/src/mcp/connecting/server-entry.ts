import { join } from 'node:path'
import { BulkheadError, type McpServerConfig, type ResolvedConfig, usesHome, withHome } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import {
  entriesOf, findSecretFault, sha512, shownUrl, type Entries, type Entry, type EntryKind,
} from '../../connected/entries.ts'
import {
  findGrantFault, localIdentity, localTarget, type LocalTarget, type Surroundings,
} from '../../connected/local-server.ts'
import type { OauthSettings } from './sign-in/account.ts'

/**
 * A server of the configuration. Its identity covers the command or URL, what it is granted, and the names of variables
 * and secrets, not their values. It is that of the written entry, so it stays when a home is moved.
 */
export interface ServerEntry extends Entry<McpServerConfig> {
  /** The command line or the URL, for display. */
  readonly address: string
  /** Whether `mcp add` has installed exact versions of it. */
  readonly isPinned: boolean
}

const serversOf = (home: string | undefined): EntryKind<McpServerConfig, ServerEntry> => ({
  key: 'mcp', noun: 'server',
  read: ({ mcp }) => mcp,
  make: (entry) => {
    const config = inHome(entry.config, home)
    const installed = home === undefined ? undefined : join(home, 'servers', entry.name, '/')
    return {
      ...entry, config,
      identity: sha512(canonicalJson(identityOf(entry.config))),
      address: config.type === 'local' ? config.command.join(' ') : shownUrl(config.url),
      isPinned: config.type === 'local' && entry.layer === 'global' && installed !== undefined
        && config.command.some((word) => word.startsWith(installed)),
    }
  },
  findFault: (config, layer) => {
    if (config.type === 'local') {
      // A project must not reach into the home without knowing where it is.
      const isRefused = usesHome(config) && (layer === 'project' || home === undefined)
      if (isRefused) return 'uses {home}, which only your own configuration can'
      return findGrantFault(home === undefined ? config : withHome(config, home))
    }
    const { url, headers = {}, oauth } = config
    if (oauth && sendsAuthorization(headers)) return 'has both "oauth" and the header Authorization; remove one of them'
    if (oauth?.clientSecret && oauth.clientId === undefined) return 'has a clientSecret without a clientId'
    return findSecretFault(url, Object.keys(headers).length > 0 || oauth !== undefined)
  },
})

/** `home`: the folder that {home} stands for. */
export const serverEntries = (config: Pick<ResolvedConfig, 'layers'>, home?: string): Entries<ServerEntry> =>
  entriesOf(config, serversOf(home))

const inHome = (config: McpServerConfig, home: string | undefined): McpServerConfig =>
  config.type === 'local' && home !== undefined ? withHome(config, home) : config

type LocalConfig = Extract<McpServerConfig, { readonly type: 'local' }>

export const isJailed = (config: McpServerConfig): config is LocalConfig =>
  config.type === 'local' && config.jail !== false

/** What its jail does not confine. */
export const unconfinedOf = (config: McpServerConfig): { readonly unconfined?: true | 'network' } =>
  config.type !== 'local' || (config.jail ?? true) === true ? {} : { unconfined: config.jail === 'files' ? 'network' : true }

function identityOf(config: McpServerConfig): Json {
  if (config.type === 'local') return { type: 'local', ...localIdentity(config) }
  const { url, headers = {}, oauth } = config
  return { type: 'remote', url, headers, ...(oauth && { oauth }) } as unknown as Json
}

/** How to connect to a server, with the values of its variables and secrets. Used for one attempt only. */
export type Target = { readonly type: 'local' } & LocalTarget | {
  readonly type: 'remote'; readonly url: URL; readonly headers: Strings
  /** undefined if the headers authorize, or the connection is not safe for tokens. */
  readonly oauth: OauthSettings | undefined
}

type Strings = Readonly<Record<string, string>>

/**
 * Throws EnvNameNotSet if the secret of a header is not set: without it, the request would use another identity. Throws
 * CapabilityUnavailable if a local server needs a jail and there is none.
 */
export function targetOf({ name, extensionId, config }: ServerEntry, surroundings: Surroundings): Target {
  if (config.type === 'local') {
    return { type: 'local', ...localTarget('MCP server', { name, extensionId, config }, surroundings) }
  }
  const { env } = surroundings
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
