/**
 * Maps that are merged key by key; `*` is any name. Everything else is replaced as a whole: a server merged from two
 * layers could send the secrets of one to the other.
 */
export const MERGED_MAPS: ReadonlySet<string> = new Set([
  '', 'roles', 'tools', 'tools/*', 'extensions', 'extensions/*', 'extensions/*/config', 'extensions/*/limits',
  'isolation', 'policy', 'policy/integrity', 'policy/signature', 'policy/identities', 'policy/lock', 'policy/scopes',
  'policy/scopes/*', 'policy/update', 'policy/conformance',
  'mcp', 'openapi', 'lsp', 'search', 'skills', 'limits', 'sandbox', 'sandbox/spares', 'sandbox/most', 'retries', 'treatment', 'budget', 'audit',
  'approvals', 'watchdogs', 'watchdogs/commandSafety', 'watchdogs/commandSafety/severity', 'guards',
  'store', 'store/retention', 'commands', 'commands/env', 'commands/env/set', 'commands/keys',
])
/** Lists that are concatenated over all layers. */
export const JOINED_LISTS: ReadonlySet<string> = new Set([
  'rules', 'allowlist', 'skills/paths', 'watchdogs/commandSafety/patterns',
])
/** Lists of which a layer that can only restrict leaves what it names as well. */
export const BOUNDED_LISTS: ReadonlySet<string> = new Set(['commands/read', 'commands/env/pass'])

/** Maps whose keys are names that others choose. */
const NAMED: ReadonlySet<string> = new Set(['tools', 'extensions', 'roles', 'policy/scopes', 'policy/identities'])

/** The place of a member, with `*` for a name. */
export function placeBelow(place: string, key: string): string {
  if (NAMED.has(place)) return `${place}/*`
  return place === '' ? key : `${place}/${key}`
}
