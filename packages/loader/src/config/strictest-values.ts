import { commandSafetyPatternSchema, ruleSchema } from '@bulkhead/contract/validation'
import { EXTENSION_ID_PATTERN, TOOL_NAME_PATTERN } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'

/** It finds every command. */
const ANY: JsonObject = {
  id: 'unreadable', label: 'A pattern that cannot be read', description: 'What it was to find is not known.', pattern: '^', category: 'configuration',
  severity: 'critical', platform: 'all',
}

/** Whatever of a pattern of dangerous commands can be read; the rest is the strictest it can have been. A key that nobody knows may have widened it. */
export function strictestPattern(written: Json): JsonObject {
  const known = isJsonObject(written) ? written : {}
  const { shape } = commandSafetyPatternSchema
  const isForeign = Object.keys(known).some((name) => !Object.hasOwn(shape, name))
  const kept = Object.entries(shape).filter(([name, schema]) => Object.hasOwn(known, name) && schema.safeParse(known[name]).success)
  return { ...ANY, ...Object.fromEntries(kept.map(([name]) => [name, known[name]!])), ...(isForeign && { pattern: ANY['pattern']! }) }
}

/** Of a list that cannot be read. */
export const ANY_PATTERN: readonly Json[] = [ANY]

/**
 * Of what forbids and cannot be read nobody knows how much: until it can be, no tool is offered at all, which no other layer can
 * undo.
 */
export const TOOLS_OFF = { toolsEnabled: false }

/** Parts that may forbid anything: where one cannot be read as a whole, nobody knows what it forbade. */
const MAY_FORBID_ANYTHING: ReadonlySet<string> = new Set([
  '/rules', '/roles', '/tools', '/extensions', '/policy', '/policy/identities', '/policy/scopes', '/toolsEnabled',
])

/** Whether tools are off until the part can be read. */
export const disablesTools = (pointer: string): boolean => MAY_FORBID_ANYTHING.has(pointer)

const STRICTEST: ReadonlyMap<string, Json> = new Map<string, Json>([
  ['/mode', 'ask'],
  ['/approvals', { projectDays: 1, sessionMinutes: 1 }], ['/approvals/projectDays', 1], ['/approvals/sessionMinutes', 1],
  ['/budget', { calls: 1, tokens: 1 }], ['/budget/calls', 1], ['/budget/tokens', 1],
  ['/isolation', { global: 'process', project: 'process' }], ['/isolation/global', 'process'], ['/isolation/project', 'process'],
  ['/policy/ceiling', {}], ['/policy/update', { widening: 'refuse' }], ['/policy/update/widening', 'refuse'],
  ['/sandbox', { os: 'require' }], ['/sandbox/os', 'require'],
  ['/audit', { require: true }], ['/audit/require', true],
  ['/skills', { enabled: false }], ['/skills/enabled', false],
  ['/watchdogs/commandSafety/enabled', true], ['/watchdogs/commandSafety/patterns', ANY_PATTERN],
])

const OFF = { enabled: false }
const SCOPE = { integrity: 'require', signature: 'require', lock: 'require', widening: 'refuse' }

/** Of parts under a name. A name that nothing can have says nothing of anything. */
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

/** What stands in for a part that forbids or bounds and cannot be read: the strictest there is. Leaving it out would lift it. */
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

/** Whatever of the rule can be read, for all that it may have spoken of. One that allows is left out: without its pattern it would allow more. */
function strictestRule(written: Json): Json | undefined {
  const { permission, action } = isJsonObject(written) ? written : {}
  if (action === 'allow') return undefined
  const { success: isKnown } = ruleSchema.shape.permission.safeParse(permission)
  return { permission: isKnown ? permission! : '*', action: action === 'ask' ? 'ask' : 'deny' }
}
