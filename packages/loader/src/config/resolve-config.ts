import { join } from 'node:path'
import {
  CONFIG_FILE, type ConfigFile, type Diagnostic, type Layer, type LayerConfig, type ResolvedConfig,
} from '@bulkhead/contract'
import { findJsonFault, isJsonObject, JSON_LIMITS, type Json, type JsonObject } from '@bulkhead/kit/json'
import { diagnose, type Fault } from '../model/result.ts'
import { readConfigFile, unreadable, validateConfig, type ConfigSource } from './config-file.ts'
import type { Settings } from './settings.ts'

interface Source {
  readonly layer: LayerConfig['layer']
  readonly location: string
  readonly written: ConfigSource
}

export interface ConfigResolution {
  readonly config: ResolvedConfig
  readonly diagnostics: readonly Diagnostic[]
  /** The digest of the configuration file of the project. */
  readonly projectFileDigest: string | null
}

/**
 * Precedence: bundled < global < project < overrides of the embedder. `projectRoot` is null until the project is
 * trusted.
 */
export function resolveConfig(
  settings: Settings, projectRoot: string | null, overrides: ConfigFile | undefined,
): ConfigResolution {
  const { defaults, globalRoot, limits: { manifestBytes: maxBytes } } = settings
  const file = (layer: Layer, root: string, followLinks: boolean): Source => {
    const location = join(root, CONFIG_FILE)
    return { layer, location, written: readConfigFile(location, { maxBytes, followLinks }) }
  }
  const sources: readonly Source[] = [
    { layer: 'bundled', location: 'bundled', written: fromProgram(defaults) },
    // Users may link to their settings. A link in a project could point anywhere.
    ...(globalRoot === null ? [] : [file('global', globalRoot, true)]),
    ...(projectRoot === null ? [] : [file('project', projectRoot, false)]),
    ...(overrides === undefined
      ? [] : [{ layer: 'embedder' as const, location: 'overrides', written: fromProgram(overrides) }]),
  ]
  const validated = sources.map((source) => ({ source, ...validateConfig(source.written.value) }))
  const layers = validated.map(({ source: { layer, location }, config, omitted }): LayerConfig =>
    deepFreeze({ layer, location, config, ...(omitted.length > 0 && { omitted }) }))
  return {
    projectFileDigest: sources.find(({ layer }) => layer === 'project')?.written.digest ?? null,
    config: Object.freeze({ merged: mergeConfigs(layers.map(({ config }) => config)), layers: Object.freeze(layers) }),
    diagnostics: [
      ...validated.flatMap(({ source, faults }) =>
        [...source.written.faults, ...faults].map((fault) => report(source, fault, 'error'))),
      ...configWarnings(layers).map(({ source, fault }) => report(source, fault, 'warning')),
    ],
  }
}

/** Checks a configuration object like a file. */
function fromProgram(config: ConfigFile): ConfigSource {
  const passed = findJsonFault(config)?.code === 'kind' ? withoutUndefined(config) : config
  const fault = findJsonFault(passed)
  if (fault === undefined) return { value: JSON.parse(JSON.stringify(passed)) as JsonObject, faults: [], digest: null }
  return unreadable('The configuration', null, fault.path, `has a value that ${fault.message}`)
}

/**
 * Removes undefined members at any depth. Leaves values that are not plain data, or too deep, for the check to refuse.
 */
function withoutUndefined(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || depth > JSON_LIMITS.maxDepth) return value
  if (Array.isArray(value)) return value.map((member) => withoutUndefined(member, depth + 1))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && prototype !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).flatMap(([key, member]: [string, unknown]) =>
    member === undefined ? [] : [[key, withoutUndefined(member, depth + 1)]]))
}

/** Diagnostics have no embedder layer, so its faults count as bundled. */
function report(
  source: Pick<Source, 'layer' | 'location'>, fault: Fault, severity: Diagnostic['severity'],
): Diagnostic {
  const { location } = source
  const layer = source.layer === 'embedder' ? 'bundled' : source.layer
  return diagnose({ layer, extensionId: null, location }, { ...fault, location }, severity)
}

export interface ConfigWarning {
  readonly source: LayerConfig
  readonly fault: Fault
}

function configWarnings(layers: readonly LayerConfig[]): readonly ConfigWarning[] {
  return layers.flatMap((source) =>
    allowlistWithoutMode(source.config, layers).map((fault) => ({ source, fault })))
}

/** Without the mode, the entries have no effect. */
function allowlistWithoutMode(config: ConfigFile, layers: readonly LayerConfig[]): Fault[] {
  if ((config.allowlist?.length ?? 0) === 0 || layers.some((layer) => layer.config.mode === 'allowlist')) return []
  const message = 'The allowlist has entries, but no layer sets the mode to allowlist.'
  return [{ stage: 'configSchema', code: 'AllowlistWithoutMode', path: '/allowlist', message }]
}

/**
 * Maps that are merged key by key; `*` is any name. Everything else is replaced as a whole: a server merged from two
 * layers could send the secrets of one to the other.
 */
const MERGED_MAPS: ReadonlySet<string> = new Set([
  '', 'roles', 'tools', 'tools/*', 'extensions', 'extensions/*', 'extensions/*/config', 'extensions/*/limits',
  'isolation', 'policy', 'policy/integrity', 'policy/signature', 'policy/identities', 'policy/lock', 'policy/scopes',
  'policy/update',
  'mcp', 'openapi', 'search', 'skills', 'limits', 'sandbox', 'sandbox/spares', 'sandbox/most', 'budget', 'audit',
  'approvals', 'watchdogs', 'watchdogs/commandSafety', 'watchdogs/commandSafety/severity', 'guards',
])
/** Lists that are concatenated over all layers. */
const JOINED_LISTS: ReadonlySet<string> = new Set(['rules', 'allowlist', 'watchdogs/commandSafety/patterns'])

/**
 * Later layers override earlier ones. Maps in the result have no prototype, because a tool may be named `constructor`.
 */
function mergeConfigs(configs: readonly ConfigFile[]): ConfigFile {
  const mergeNext = (merged: Json, config: ConfigFile): Json => merge(merged, config as unknown as Json, '')
  return deepFreeze(configs.reduce<Json>(mergeNext, {}) as ConfigFile)
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

/** Freezes plain data recursively. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const key in value) {
    const member = value[key]
    if (typeof member === 'object') deepFreeze(member)
  }
  return value
}

/** A member by an untrusted name: `constructor` must not find the inherited one. */
export function ownMember<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined
}
