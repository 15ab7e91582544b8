import {
  BulkheadError, checkRequirements, CONFIG_FILE, EXTENSION_ID_PATTERN, TOOL_MODES, TOOL_NAME_PATTERN,
  type ConfigFile, type ErrorCode,
} from '@bulkhead/contract'
import {
  commandSafetyPatternSchema, configFileSchema, placeIssues, pointerOf, ruleSchema, type PlacedIssue,
} from '@bulkhead/contract/validation'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { childLinesInJson } from '@bulkhead/kit/json-edit'
import { visibleText } from '@bulkhead/kit/text'
import { readRegularFile, type ReadOptions } from '../files/read-file.ts'
import { parseStrictJson } from '../files/json-file.ts'
import { sha512 } from '../model/digest.ts'
import type { Fault } from '../model/result.ts'
import { readPublicKey } from '../signature/conformance.ts'

export interface ConfigSource {
  readonly value: JsonObject
  readonly faults: readonly Fault[]
  /** The digest of the file; null if it is missing or unreadable. */
  readonly digest: string | null
  /** The line of each rule, if the file has some. */
  readonly ruleLines?: readonly number[]
}

const CONSEQUENCE = 'Its rules are unknown, so all tools are disabled.'

/** Parses a configuration file. A missing file is an empty configuration. */
export function readConfigFile(path: string, options: ReadOptions): ConfigSource {
  const file = readRegularFile(path, options)
  if (!file.ok) {
    return file.problem === 'missing'
      ? { value: {}, faults: [], digest: null } : unreadable(CONFIG_FILE, null, '', file.message)
  }
  const digest = sha512(file.bytes)
  const parsed = parseStrictJson(file.bytes)
  if (!parsed.ok) {
    return unreadable(
      CONFIG_FILE, digest, parsed.path, parsed.message, parsed.duplicateKey ? 'DuplicateJsonKey' : 'ConfigInvalid',
    )
  }
  return isJsonObject(parsed.value)
    ? { value: parsed.value, faults: [], digest, ...ruleLinesOf(parsed.value, file.bytes) }
    : unreadable(CONFIG_FILE, digest, '', 'must contain an object')
}

/** Where the rules are written, for people. Contract: the bytes are the JSON of `value`. */
export const ruleLinesOf = (value: JsonObject, bytes: Uint8Array): { readonly ruleLines?: readonly number[] } =>
  Array.isArray(value['rules']) && value['rules'].length > 0
    ? { ruleLines: childLinesInJson(new TextDecoder().decode(bytes), '/rules') } : {}

export const unreadable = (
  name: string, digest: string | null, path: string, what: string, code: ErrorCode = 'ConfigInvalid',
): ConfigSource => ({
  value: TOOLS_OFF,
  digest,
  faults: [{ stage: 'configSchema', code, path, message: `${name} ${what}. ${CONSEQUENCE}` }],
})

type Steps = readonly (string | number)[]

/**
 * The depth at which an invalid part is left out. A rule is one part: without its pattern it would allow more. In the
 * entry of an extension each key is a part: `enabled: false` must survive an invalid limit next to it.
 */
const PART_DEPTH: ReadonlyMap<string | number, number> = new Map([
  ['allowlist', 2], ['rules', 2], ['roles', 2], ['packages', 2], ['mcp', 2], ['openapi', 2], ['lsp', 2], ['tools', 3],
  ['extensions', 4], ['policy', 3], ['isolation', 2], ['limits', 2], ['sandbox', 3], ['search', 2], ['skills', 2],
  ['retries', 2], ['treatment', 2], ['budget', 2], ['audit', 2], ['approvals', 2], ['watchdogs', 4], ['guards', 2], ['commands', 4], ['store', 2],
])

/** Leaving a part out may reveal another fault. After this many rounds the whole file is rejected. */
const ROUNDS = 3
const MAX_FAULTS = 100

export interface ValidConfig {
  readonly config: ConfigFile
  readonly faults: readonly Fault[]
  /** JSON Pointers of list entries that were left out. */
  readonly omitted: readonly string[]
}

/**
 * Reports unknown keys and invalid values, and keeps the rest. Invalid prohibitions and limits are replaced by the
 * strictest value.
 */
export function validateConfig(written: JsonObject): ValidConfig {
  if (Object.keys(written).length === 0) return { config: {}, faults: [], omitted: [] }
  const faults: Fault[] = []
  const omitted: string[] = []
  let remaining: Json = written
  for (let round = 0; round < ROUNDS; round++) {
    const parsed = configFileSchema.safeParse(remaining)
    const issues = parsed.success
      ? [...ceilingIssues(parsed.data), ...keyIssues(parsed.data)] : placeIssues(parsed.error.issues, configFileSchema)
    if (parsed.success && issues.length === 0) {
      return { config: parsed.data, faults: faults.slice(0, MAX_FAULTS), omitted }
    }
    faults.push(...issues.map((issue) => faultOf(issue, remaining)))
    const parts = new Set(issues.map(({ steps }) => pointerOf(partOf(steps))))
    remaining = {
      ...without(remaining, parts, '', omitted) as JsonObject, ...([...parts].some(disablesTools) && TOOLS_OFF),
    }
  }
  return { config: TOOLS_OFF, faults: faults.slice(0, MAX_FAULTS), omitted: [] }
}

/** The patterns of a ceiling follow rules that the schema cannot express. */
function ceilingIssues({ policy }: ConfigFile): readonly PlacedIssue[] {
  try {
    checkRequirements(policy?.ceiling ?? {})
    return []
  } catch (error) {
    return [{ steps: ['policy', 'ceiling'], message: `cannot be used: ${BulkheadError.from(error).message}` }]
  }
}

/** The schema cannot read keys. */
const keyIssues = ({ policy }: ConfigFile): readonly PlacedIssue[] =>
  (policy?.conformance?.signers ?? []).flatMap((signer, index) =>
    !('key' in signer) || readPublicKey(signer.key) !== undefined ? [] : [{
      steps: ['policy', 'conformance', 'signers', index, 'key'],
      message: 'is not an Ed25519 or P-256 public key in PEM',
    }])

function faultOf({ steps, message }: PlacedIssue, written: Json): Fault {
  const path = pointerOf(steps)
  const sentence = `${visibleText(path) || 'The configuration'} ${message}${/[.?]$/.test(message) ? '' : '.'}`
  const consequence = consequenceOf(partOf(steps), written)
  return { stage: 'configSchema', code: 'ConfigInvalid', path, message: sentence + consequence }
}

function consequenceOf(part: Steps, written: Json): string {
  const pointer = pointerOf(part)
  if (disablesTools(pointer)) return ' Until this is fixed, all tools are disabled.'
  const instead = strictestValue(pointer, part.reduce(memberOf, written))
  return instead === undefined
    ? '' : ` Until this is fixed, ${visibleText(pointer)} is ${visibleText(JSON.stringify(instead))}.`
}

function memberOf(value: Json, step: string | number): Json {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, step) ? (value as JsonObject)[step]! : null
}

function partOf(steps: Steps): Steps {
  // Each is one part, because half of it is a different restriction.
  if (/^\/policy\/(?:ceiling|conformance)$/.test(pointerOf(steps.slice(0, 2)))) return steps.slice(0, 2)
  // So is a key: without its methods or paths it would be another one.
  if (pointerOf(steps.slice(0, 2)) === '/commands/keys') return steps.slice(0, 3)
  return steps.slice(0, PART_DEPTH.get(steps[0] ?? '') ?? 1)
}

function without(value: Json, parts: ReadonlySet<string>, pointer: string, omitted: string[]): Json {
  const member = (child: Json, step: string | number): Json | undefined => {
    const at = pointer + pointerOf([step])
    if (!parts.has(at)) return without(child, parts, at, omitted)
    const instead = strictestValue(at, child)
    if (instead === undefined && typeof step === 'number') omitted.push(at)
    return instead
  }
  if (Array.isArray(value)) return (value as readonly Json[]).map(member).filter((child) => child !== undefined)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value as JsonObject).flatMap(([key, child]) => {
    const kept = member(child, key)
    return kept === undefined ? [] : [[key, kept]]
  }))
}

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

const disablesTools = (pointer: string): boolean => MAY_FORBID_ANYTHING.has(pointer)

const ALL_ASK: JsonObject = Object.fromEntries(TOOL_MODES.map((mode) => [mode, 'ask']))

const STRICTEST: ReadonlyMap<string, Json> = new Map<string, Json>([
  ['/mode', 'ask'],
  ['/approvals', { project: false, projectDays: 1, sessionMinutes: 1 }], ['/approvals/project', false],
  ['/approvals/projectDays', 1],
  ['/approvals/sessionMinutes', 1],
  ['/budget', { calls: 1, tokens: 1 }], ['/budget/calls', 1], ['/budget/tokens', 1],
  ['/treatment', ALL_ASK],
  ['/retries', { attempts: 1 }], ['/retries/attempts', 1], ['/retries/classes', []],
  ['/isolation', { global: 'process', project: 'process' }], ['/isolation/global', 'process'],
  ['/isolation/project', 'process'],
  ['/policy/ceiling', {}], ['/policy/conformance', { require: true, signers: [] }],
  ['/policy/update', { widening: 'refuse' }], ['/policy/update/widening', 'refuse'],
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
  [/^\/treatment\/([^/]*)$/, /^(?:read|safe_write|destructive|local|external)$/, 'ask'],
  [/^\/tools\/([^/]*)$/, TOOL_NAME_PATTERN, OFF],
  [/^\/tools\/([^/]*)\/enabled$/, TOOL_NAME_PATTERN, false],
  [/^\/extensions\/([^/]*)$/, EXTENSION_ID_PATTERN, OFF],
  [/^\/extensions\/([^/]*)\/enabled$/, EXTENSION_ID_PATTERN, false],
  [/^\/extensions\/([^/]*)\/isolation$/, EXTENSION_ID_PATTERN, 'process'],
]

/** The strictest value of a prohibition or limit that cannot be read. Leaving it out would lift it. */
function strictestValue(pointer: string, written: Json): Json | undefined {
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
  const { permission, action, passkey } = isJsonObject(written) ? written : {}
  // Someone who wrote a passkey beside `allow` did not mean to allow without one.
  const demands = passkey !== undefined && passkey !== false
  if (action === 'allow' && !demands) return undefined
  const { success: isKnown } = ruleSchema.shape.permission.safeParse(permission)
  const asks = action === 'ask' || action === 'allow'
  return { permission: isKnown ? permission! : '*', action: asks ? 'ask' : 'deny', ...(asks && demands && { passkey: true }) }
}
