import { BulkheadError, type McpServerConfig, type ResolvedConfig } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { entriesOf, findSecretFault, sha512, shownUrl, type Entries, type Entry, type EntryKind } from '../../connected/entries.ts'

/**
 * A server of the configuration that may be used. Its identity is over what is started or reached, and with which variables and
 * secrets; values are no part of it.
 */
export interface ServerEntry extends Entry<McpServerConfig> {
  /** The command line or the URL, for people. */
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

export const serverEntries = (config: Pick<ResolvedConfig, 'layers'>): Entries<ServerEntry> => entriesOf(config, SERVERS)

function identityOf(config: McpServerConfig): Json {
  if (config.type === 'local') return { type: 'local', command: config.command, env: (config.env ?? []).toSorted() }
  return { type: 'remote', url: config.url, headers: config.headers ?? {} } as unknown as Json
}

/** What is started or reached, with the values that the configuration only names. Lives no longer than a try to connect. */
export type Target =
  | { readonly type: 'local'; readonly command: readonly string[]; readonly cwd: string; readonly env: Readonly<Record<string, string>> }
  | { readonly type: 'remote'; readonly url: URL; readonly headers: Readonly<Record<string, string>> }

export interface Surroundings {
  /** The folder that local servers are started in. */
  readonly workspace: string
  /** What every process is given: where programs, settings and language are. */
  readonly base: Readonly<Record<string, string>>
  /** Looked up for declared names only. */
  readonly env: (name: string) => string | undefined
}

/** Throws EnvNameNotSet for a header whose secret is not set: the request would use another identity without it. */
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
    const message = `The header "${header}" of the MCP server "${name}" is in the variable ${secret}, which has no value here.`
    throw new BulkheadError('EnvNameNotSet', message, { data: { name: secret } })
  })
  return { type: 'remote', url: new URL(config.url), headers: Object.fromEntries(headers) }
}

/** The secret values of a target: headers, and the variables named for this server. */
export function secretsOf({ config }: ServerEntry, { env }: Pick<Surroundings, 'env'>): ReadonlyMap<string, string> {
  const names = config.type === 'local' ? config.env ?? [] : Object.values(config.headers ?? {}).map(({ secret }) => secret)
  const values = names.map((name) => [name, env(name) ?? ''] as const)
  return new Map(values.filter(([, value]) => value.length >= SHORTEST))
}

/** A shorter value is no secret, and would be found in every other word. */
const SHORTEST = 8
