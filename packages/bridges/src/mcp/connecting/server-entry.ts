import { BulkheadError, type McpServerConfig, type ResolvedConfig } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import {
  entriesOf, findSecretFault, sha512, shownUrl, type Entries, type Entry, type EntryKind,
} from '../../connected/entries.ts'

/**
 * A server of the configuration. Its identity covers the command or URL and the names of variables and secrets, not
 * their values.
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
  findFault: (config) =>
    config.type === 'local' ? undefined : findSecretFault(config.url, Object.keys(config.headers ?? {}).length > 0),
}

export const serverEntries = (config: Pick<ResolvedConfig, 'layers'>): Entries<ServerEntry> =>
  entriesOf(config, SERVERS)

function identityOf(config: McpServerConfig): Json {
  if (config.type === 'local') return { type: 'local', command: config.command, env: (config.env ?? []).toSorted() }
  return { type: 'remote', url: config.url, headers: config.headers ?? {} } as unknown as Json
}

/** How to connect to a server, with the values of its variables and secrets. Used for one attempt only. */
export type Target =
  | { readonly type: 'local'; readonly command: readonly string[]; readonly cwd: string; readonly env: Strings }
  | { readonly type: 'remote'; readonly url: URL; readonly headers: Strings }

type Strings = Readonly<Record<string, string>>

export interface Surroundings {
  /** The working directory of local servers. */
  readonly workspace: string
  /** The environment of every local server, such as PATH. */
  readonly base: Readonly<Record<string, string>>
  /** Called for declared names only. */
  readonly env: (name: string) => string | undefined
}

/** Throws EnvNameNotSet if the secret of a header is not set: without it, the request would use another identity. */
export function targetOf({ name, config }: ServerEntry, { workspace, base, env }: Surroundings): Target {
  if (config.type === 'local') {
    const declared = (config.env ?? []).flatMap((variable) => {
      const value = env(variable)
      return value === undefined ? [] : [[variable, value] as const]
    })
    return { type: 'local', command: config.command, cwd: workspace, env: { ...base, ...Object.fromEntries(declared) } }
  }
  const headers = Object.entries(config.headers ?? {}).map(([header, { secret }]) => {
    const value = env(secret)
    if (value !== undefined) return [header, value] as const
    const message = `The header "${header}" of the MCP server "${name}" uses the variable ${secret}, which is not set.`
    throw new BulkheadError('EnvNameNotSet', message, { data: { name: secret } })
  })
  return { type: 'remote', url: new URL(config.url), headers: Object.fromEntries(headers) }
}

/** The secret values of a target: headers, and the variables named for this server. */
export function secretsOf({ config }: ServerEntry, { env }: Pick<Surroundings, 'env'>): ReadonlyMap<string, string> {
  const names = config.type === 'local'
    ? config.env ?? []
    : Object.values(config.headers ?? {}).map(({ secret }) => secret)
  const values = names.map((name) => [name, env(name) ?? ''] as const)
  return new Map(values.filter(([, value]) => value.length >= SHORTEST))
}

/** Shorter values are not redacted: they would match ordinary words. */
const SHORTEST = 8
