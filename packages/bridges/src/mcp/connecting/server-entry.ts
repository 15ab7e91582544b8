import type { McpServerConfig, ResolvedConfig } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { type Entries, entriesOf, type Entry, type EntryKind, findSecretFault, sha512, shownUrl } from '../../connected/entries.ts'

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
