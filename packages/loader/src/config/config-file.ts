import { BulkheadError, checkRequirements, CONFIG_FILE, type ConfigFile, type ErrorCode } from '@bulkhead/contract'
import { configFileSchema } from '@bulkhead/contract/validation'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { readRegularFile, type ReadOptions } from '../files/read-file.ts'
import { placeIssues, pointerOf, type PlacedIssue } from '../files/schema-issues.ts'
import { parseStrictJson } from '../files/strict-json.ts'
import { sha512 } from '../model/digest.ts'
import type { Fault } from '../model/result.ts'
import { strictestValue, disablesTools, TOOLS_OFF } from './strictest-values.ts'

export interface ConfigSource {
  readonly value: JsonObject
  readonly faults: readonly Fault[]
  /** The digest of the file; null if it is missing or unreadable. */
  readonly digest: string | null
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
    ? { value: parsed.value, faults: [], digest } : unreadable(CONFIG_FILE, digest, '', 'must contain an object')
}

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
  ['allowlist', 2], ['rules', 2], ['roles', 2], ['packages', 2], ['mcp', 2], ['openapi', 2], ['tools', 3],
  ['extensions', 4], ['policy', 3], ['isolation', 2], ['limits', 2], ['sandbox', 3], ['search', 2], ['skills', 2],
  ['budget', 2], ['audit', 2], ['approvals', 2], ['watchdogs', 4], ['guards', 2],
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
    const issues = parsed.success ? ceilingIssues(parsed.data) : placeIssues(parsed.error.issues, configFileSchema)
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

function faultOf({ steps, message }: PlacedIssue, written: Json): Fault {
  const path = pointerOf(steps)
  const sentence = `${visibleText(path) || 'The configuration'} ${message}${message.endsWith('.') ? '' : '.'}`
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
  // A ceiling is one part, because half of it is a different ceiling.
  if (pointerOf(steps.slice(0, 2)) === '/policy/ceiling') return steps.slice(0, 2)
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
