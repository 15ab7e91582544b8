import { commandSafetyPatternSchema, ruleSchema } from '@bulkhead/contract/validation'
import { EXTENSION_ID_PATTERN, TOOL_NAME_PATTERN } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'

/** Matches all commands. */
const ANY: JsonObject = {
  id: 'unreadable', label: 'An unreadable pattern',
  description: 'It matches all commands because its own pattern could not be read.', pattern: '^',
  category: 'configuration',
  severity: 'critical', platform: 'all',
}

/**
 * Keeps the valid fields of a dangerous-command pattern and replaces the rest by the strictest values. An unknown key
 * may have widened it.
 */
function strictestPattern(written: Json): JsonObject {
  const known = isJsonObject(written) ? written : {}
  const { shape } = commandSafetyPatternSchema
  const hasUnknownKey = Object.keys(known).some((name) => !Object.hasOwn(shape, name))
  const kept = Object.entries(shape)
    .filter(([name, schema]) => Object.hasOwn(known, name) && schema.safeParse(known[name]).success)
  return {
    ...ANY, ...Object.fromEntries(kept.map(([name]) => [name, known[name]!])),
    ...(hasUnknownKey && { pattern: ANY['pattern']! }),
  }
}

const ANY_PATTERN: readonly Json[] = [ANY]

/** Applies while a prohibition cannot be read: no tool is offered, and no other layer can undo this. */
export const TOOLS_OFF = { toolsEnabled: false }

/** Parts that may forbid anything. If one is unreadable as a whole, what it forbids is unknown. */
const MAY_FORBID_ANYTHING: ReadonlySet<string> = new Set([
  '/rules', '/roles', '/tools', '/extensions', '/policy', '/policy/identities', '/policy/scopes', '/toolsEnabled',
])

export const disablesTools = (pointer: string): boolean => MAY_FORBID_ANYTHING.has(pointer)

const STRICTEST: ReadonlyMap<string, Json> = new Map<string, Json>([
  ['/mode', 'ask'],
  ['/approvals', { projectDays: 1, sessionMinutes: 1 }], ['/approvals/projectDays', 1],
  ['/approvals/sessionMinutes', 1],
  ['/budget', { calls: 1, tokens: 1 }], ['/budget/calls', 1], ['/budget/tokens', 1],
  ['/isolation', { global: 'process', project: 'process' }], ['/isolation/global', 'process'],
  ['/isolation/project', 'process'],
  ['/policy/ceiling', {}], ['/policy/update', { widening: 'refuse' }], ['/policy/update/widening', 'refuse'],
  ['/sandbox', { os: 'require' }], ['/sandbox/os', 'require'],
  ['/audit', { require: true }], ['/audit/require', true],
  ['/skills', { enabled: false }], ['/skills/enabled', false],
  ['/watchdogs/commandSafety/enabled', true], ['/watchdogs/commandSafety/patterns', ANY_PATTERN],
])

const OFF = { enabled: false }
const SCOPE = { integrity: 'require', signature: 'require', lock: 'require', widening: 'refuse' }

/** For parts with a user-defined name. An impossible name has no effect, so it needs no value. */
const BY_NAME: readonly (readonly [section: RegExp, name: RegExp, strictest: Json])[] = [
  [/^\/policy\/identities\/([^/]*)$/, /^/, {}],
  [/^\/policy\/(integrity|signature|lock)$/, /^/, { global: 'require', project: 'require' }],
  [/^\/policy\/(?:integrity|signature|lock)\/(bundled|global|project)$/, /^/, 'require'],
  [/^\/policy\/scopes\/([^/]*)$/, /^(?:@[a-z0-9~-][a-z0-9._~-]*|[a-z][a-z0-9-]*\*?)$/, SCOPE],
  [/^\/roles\/([^/]*)$/, /^allow_[A-Za-z0-9_-]+$/, false],
  [/^\/watchdogs\/commandSafety\/severity\/([^/]*)$/, /^[a-z][a-z0-9-]{0,63}$/, 'critical'],
  [/^\/tools\/([^/]*)$/, TOOL_NAME_PATTERN, OFF],
  [/^\/tools\/([^/]*)\/enabled$/, TOOL_NAME_PATTERN, false],
  [/^\/extensions\/([^/]*)$/, EXTENSION_ID_PATTERN, OFF],
  [/^\/extensions\/([^/]*)\/enabled$/, EXTENSION_ID_PATTERN, false],
  [/^\/extensions\/([^/]*)\/isolation$/, EXTENSION_ID_PATTERN, 'process'],
]

/** The strictest value of a prohibition or limit that cannot be read. Leaving it out would lift it. */
export function strictestValue(pointer: string, written: Json): Json | undefined {
  if (/^\/rules\/\d+$/.test(pointer)) return strictestRule(written)
  if (/^\/watchdogs\/commandSafety\/patterns\/\d+$/.test(pointer)) return strictestPattern(written)
  const fixed = STRICTEST.get(pointer)
  if (fixed !== undefined) return fixed
  return BY_NAME.find(([section, name]) => {
    const named = section.exec(pointer)?.[1]
    return named !== undefined && name.test(named)
  })?.[2]
}

/**
 * Keeps the readable part of a rule and applies it to everything. An allow rule is left out, because without its
 * pattern it would allow more.
 */
function strictestRule(written: Json): Json | undefined {
  const { permission, action } = isJsonObject(written) ? written : {}
  if (action === 'allow') return undefined
  const { success: isKnown } = ruleSchema.shape.permission.safeParse(permission)
  return { permission: isKnown ? permission! : '*', action: action === 'ask' ? 'ask' : 'deny' }
}
