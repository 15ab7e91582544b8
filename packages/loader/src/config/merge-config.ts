import type { ConfigFile } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { deepFreeze } from '../model/plain-data.ts'

/**
 * Maps that are merged key by key; `*` is any name. Everything else is replaced as a whole: a server merged from two layers could
 * send the secrets of one to the other.
 */
const MERGED_MAPS: ReadonlySet<string> = new Set([
  '', 'roles', 'tools', 'tools/*', 'extensions', 'extensions/*', 'extensions/*/config', 'extensions/*/limits', 'isolation',
  'policy', 'policy/integrity', 'policy/signature', 'policy/identities', 'policy/lock', 'policy/scopes', 'policy/update',
  'mcp', 'openapi', 'search', 'skills', 'limits', 'sandbox', 'sandbox/spares', 'sandbox/most', 'budget', 'audit',
  'approvals', 'watchdogs', 'watchdogs/commandSafety', 'watchdogs/commandSafety/severity', 'guards',
])
/** Lists that are concatenated over all layers. */
const JOINED_LISTS: ReadonlySet<string> = new Set(['rules', 'allowlist', 'watchdogs/commandSafety/patterns'])

/** Later layers override earlier ones. Maps in the result have no prototype, because a tool may be named `constructor`. */
export function mergeConfigs(configs: readonly ConfigFile[]): ConfigFile {
  return deepFreeze(configs.reduce<Json>((merged, config) => merge(merged, config as unknown as Json, ''), {}) as ConfigFile)
}

function merge(earlier: Json | undefined, later: Json, place: string): Json {
  // No layer can undo these restrictions of a lower one.
  if (place === 'toolsEnabled' && earlier === false) return false
  if (place === 'sandbox/os' && earlier === 'require') return earlier
  if (place === 'audit/require' && earlier === true) return true
  if (JOINED_LISTS.has(place) && Array.isArray(later)) return [...(Array.isArray(earlier) ? earlier : []), ...later]
  if (!isJsonObject(later) || !MERGED_MAPS.has(place)) return later
  const merged: Record<string, Json> = Object.assign(Object.create(null), isJsonObject(earlier) ? earlier : {})
  for (const [key, value] of Object.entries(later)) {
    merged[key] = merge(Object.hasOwn(merged, key) ? merged[key] : undefined, value, placeBelow(place, key))
  }
  return merged
}

function placeBelow(place: string, key: string): string {
  if (place === 'tools' || place === 'extensions') return `${place}/*`
  return place === '' ? key : `${place}/${key}`
}
