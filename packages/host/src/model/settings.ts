import {
  byteSize, ceilingsOf, declaresSetting, DEFAULT_LIMITS, PLACEMENTS, unknownSettings, type CompartmentLimits,
  type ConfigFile, type Diagnostic, type ExtensionConfig, type ExtensionDescriptor, type Layer, type LayerConfig,
  type LocatedCeiling, type Placement, type ResolvedConfig,
  type RuleAuthor, type RunsOn, type ScopedRule, type SecurityMode, type ToolConfig,
} from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { idleRules } from './idle-rules.ts'
import { retriesOf, type Retries } from './retries.ts'
import { treatmentTable, type TreatmentTable } from './treatment-table.ts'
import { member, Written } from './written.ts'

type ConfigLayer = LayerConfig['layer']

/** Diagnostics have no layer for the embedder and the machine. */
export const diagnosticLayer = (layer: ConfigLayer): Layer =>
  layer === 'embedder' || layer === 'machine' ? 'bundled' : layer

/** The merged configuration. Records are maps, because third parties choose the names. */
export class Settings {
  readonly file: ConfigFile
  /** Rules of every layer. Their order does not matter. */
  readonly rules: readonly ScopedRule[]
  readonly layers: readonly LayerConfig[]
  /** The policy of the machine, which nothing can loosen. */
  readonly machine: ConfigFile
  /** All of them apply. */
  readonly ceilings: readonly LocatedCeiling[]
  /** What a project cannot loosen. */
  readonly written: Written
  readonly retries: Retries
  readonly treatments: TreatmentTable
  readonly #tools: ReadonlyMap<string, ToolConfig>
  readonly #extensions: ReadonlyMap<string, ExtensionConfig>
  readonly #roles: ReadonlyMap<string, boolean>

  #idleRules: readonly Diagnostic[] | undefined

  constructor({ merged, layers }: ResolvedConfig) {
    this.file = merged
    this.layers = layers
    this.written = new Written(layers)
    this.machine = layers.find(({ layer }) => layer === 'machine')?.config ?? {}
    this.ceilings = ceilingsOf({ merged, layers })
    this.rules = layers.flatMap(scopedRules)
    this.retries = retriesOf(merged)
    this.treatments = treatmentTable(merged, this.machine)
    this.#tools = new Map(Object.entries(merged.tools ?? {}))
    this.#extensions = new Map(Object.entries(merged.extensions ?? {}))
    this.#roles = new Map(Object.entries(merged.roles ?? {}))
  }

  /** Rules that never decide. Compared when someone looks. */
  get idleRules(): readonly Diagnostic[] {
    this.#idleRules ??= idleRules(this.rules)
    return this.#idleRules
  }

  tool(name: string): ToolConfig {
    return this.#tools.get(name) ?? {}
  }

  extension(id: string): ExtensionConfig {
    return this.#extensions.get(id) ?? {}
  }

  /** A key that the host reads: of the tool's entry, else of its extension's `config`. */
  common<Key extends CommonKey>(key: Key, tool: string, descriptor: ExtensionDescriptor | undefined): ToolConfig[Key] {
    const isCommon = descriptor !== undefined && isCommonKey(key, descriptor)
    const ofExtension = ({ config }: ExtensionConfig): ToolConfig[Key] => config?.[key] as ToolConfig[Key]
    const own = this.tool(tool)[key] ?? (isCommon ? ofExtension(this.extension(descriptor.id)) : undefined)
    const written = this.written.first(({ tools }) => member(tools, tool)?.[key]) ?? (isCommon
      ? this.written.first(({ extensions }) => ofExtension(member(extensions, descriptor.id) ?? {})) : undefined)
    return stricter(own, written)
  }

  /** A bound that the host reads, unless the extension declares the key. A size is a number of bytes. */
  bound(key: BoundKey, tool: string, descriptor: ExtensionDescriptor): number | undefined {
    if (declaresSetting(descriptor.manifest.configSchema, key)) return undefined
    const valueIn = ({ tools, extensions }: Pick<ConfigFile, 'tools' | 'extensions'>): number | undefined => {
      const value = member(tools, tool)?.[key] ?? member(extensions, descriptor.id)?.config?.[key]
      return typeof value === 'number' || typeof value === 'string' ? byteSize(value) : undefined
    }
    return stricter(valueIn(this.file), this.written.first(valueIn))
  }

  /** The file that disables a tool. */
  disabledBy(tool: string, descriptor: ExtensionDescriptor | undefined): string {
    const source = this.layers.findLast(({ config: { tools, extensions } }) => member(tools, tool)?.enabled === false
      || (descriptor && member(extensions, descriptor.id)?.config?.['enabled'] === false))
    return source?.location ?? 'the configuration'
  }

  /** Who chose the mode: the user, the embedder or the machine, else the project. The mode yolo asks nothing. */
  get modeAuthor(): ModeAuthor {
    const chosen = (layer: ConfigLayer) => this.layers.find((one) => one.layer === layer)?.config.mode
    if (WRITERS.some((layer) => isAsking(chosen(layer)))) return 'written'
    return chosen('project') === undefined ? 'default' : 'project'
  }

  /** The entries that answer a mode. Those of a project answer only the default. */
  allowlist(isModeWritten: boolean): readonly string[] {
    const counts = ({ layer }: LayerConfig): boolean => !isModeWritten || layer !== 'project'
    return this.layers.every(counts)
      ? this.file.allowlist ?? [] : this.layers.filter(counts).flatMap(({ config: { allowlist = [] } }) => allowlist)
  }

  /** The flag that forbids the tool, or undefined. */
  forbiddingFlag(tool: string, role: string): string | undefined {
    const flag = [roleFlag(this.#roles, tool, role), roleFlag(this.written.roles, tool, role)]
      .find((each) => each?.allowed === false)
    const source = flag && this.layers.findLast(({ config }) => member(config.roles, flag.name) === false)
    return flag && (source === undefined ? flag.name : `${flag.name} of ${source.location}`)
  }
}

export type ModeAuthor = 'written' | 'project' | 'default'

const WRITERS: readonly ConfigLayer[] = ['global', 'embedder', 'machine']
export const isAsking = (mode: SecurityMode | undefined): boolean => mode !== undefined && mode !== 'yolo' && mode !== 'learn'

/** Of the value in effect and the written one. */
function stricter<Value extends boolean | number | undefined>(value: Value, written: Value): Value {
  if (value === undefined || written === undefined) return value ?? written
  return (typeof value === 'number' ? Math.min(value, written as number) : value && written) as Value
}

type CommonKey = 'enabled' | 'timeoutMs'
export const BOUND_KEYS = ['maxTimeoutMs', 'maxOutput', 'maxEntries'] as const
type BoundKey = (typeof BOUND_KEYS)[number]
const COMMON_KEYS: ReadonlySet<string> = new Set<CommonKey | BoundKey>(['enabled', 'timeoutMs', ...BOUND_KEYS])

/** Whether the host reads the key of an extension's configuration: not if the extension declares it. */
const isCommonKey = (key: string, { manifest: { configSchema } }: Pick<ExtensionDescriptor, 'manifest'>): boolean =>
  COMMON_KEYS.has(key) && !declaresSetting(configSchema, key)

/** The role of a session that names none. Hooks report it, and its flags apply. */
export const DEFAULT_ROLE = 'agent'

export interface RoleFlag {
  readonly name: string
  readonly allowed: boolean
}

/** The flag that applies to the tool, or undefined. */
export function roleFlag(flags: ReadonlyMap<string, boolean>, tool: string, role: string): RoleFlag | undefined {
  const name = [`allow_${tool}_${role}`, `allow_${tool}`].find((candidate) => flags.has(candidate))
  return name === undefined ? undefined : { name, allowed: flags.get(name)! }
}

const AUTHORS: Readonly<Record<ConfigLayer, RuleAuthor>> = {
  machine: 'machine', bundled: 'bundled', embedder: 'embedder', global: 'user', project: 'project',
}
/** Whose rules those of an agent or a configuration are. */
export const authorOf = (layer: ConfigLayer): RuleAuthor => AUTHORS[layer]

/** A deny of these is final. */
const isFinal = (layer: ConfigLayer): boolean => layer === 'machine' || layer === 'embedder'

/** The rules of a configuration, with their authors and places. */
export const configuredRules = (config: ResolvedConfig): readonly ScopedRule[] => new Settings(config).rules

const scopedRules = (layer: LayerConfig): ScopedRule[] => (layer.config.rules ?? []).map((rule, index) => {
  const place = writtenPlace(layer, '/rules', index)
  const line = layer.ruleLines?.[Number(place.slice('/rules/'.length))]
  return {
    ...rule, author: authorOf(layer.layer), isFinal: isFinal(layer.layer), source: `${layer.location}#${place}`,
    ...(line !== undefined && { line }),
  }
})

/** The JSON Pointer of an entry as it was written: invalid entries before it were omitted. */
export function writtenPlace({ omitted = [] }: Pick<LayerConfig, 'omitted'>, list: string, index: number): string {
  const missing = omitted
    .flatMap((pointer) => pointer.startsWith(`${list}/`) ? [Number(pointer.slice(list.length + 1))] : [])
  const written = missing.toSorted((a, b) => a - b).reduce((place, gap) => gap <= place ? place + 1 : place, index)
  return `${list}/${written}`
}

/** How an extension runs, by configuration and layer. */
export interface Arrangement {
  readonly placement: Placement
  readonly limits: CompartmentLimits
  readonly config: JsonObject
  /** The number of compartments that share its calls. */
  readonly compartments: number
  /** Where its calls run instead of here. */
  readonly runsOn: RunsOn | undefined
  /** Whether calls of it can run elsewhere: all of them, or those that a rule names. */
  readonly isRemote: boolean
  readonly activation: 'first-call' | 'eager'
}

/** A project could send its code, and what tools are given, to other machines. */
export const maySendElsewhere = ({ runsOn, author }: ScopedRule): boolean => runsOn !== undefined && author !== 'project'

export const sorted = (runsOn: RunsOn): RunsOn => ({ ...runsOn, labels: runsOn.labels.toSorted() })

export function arrange(descriptor: ExtensionDescriptor, settings: Settings): Arrangement {
  const own = settings.extension(descriptor.id)
  return {
    placement: placementOf(descriptor, settings),
    limits: limitsFrom(settings, own.limits, descriptor.id),
    config: configOf(descriptor, settings),
    compartments: own.compartments ?? 1,
    runsOn: own.runsOn && sorted(own.runsOn),
    isRemote: own.runsOn !== undefined || (descriptor.code.kind === 'files' && settings.rules.some(maySendElsewhere)),
    activation: own.activation ?? descriptor.manifest.discoveryRules.activation,
  }
}

/** Third-party code gets a process unless `thread` is configured. Inline is for bundled code. */
function placementOf({ id, layer, code }: ExtensionDescriptor, settings: Settings): Placement {
  if (code.kind === 'module') return 'inline'
  if (layer !== 'bundled' && settings.machine.isolation?.[layer]) return 'process'
  const wanted = settings.extension(id).isolation ?? settings.file.isolation?.[layer] ?? 'process'
  const written = settings.written.first(({ extensions }) => member(extensions, id)?.isolation)
    ?? settings.written.first(({ isolation }) => isolation?.[layer]) ?? wanted
  const stricterOne = PLACEMENTS.indexOf(written) > PLACEMENTS.indexOf(wanted) ? written : wanted
  return stricterOne === 'inline' && layer !== 'bundled' ? 'process' : stricterOne
}

type PartialLimits = { readonly [Name in keyof CompartmentLimits]?: number | undefined }

function limitsFrom({ file, written }: Settings, own: PartialLimits | undefined, id: string): CompartmentLimits {
  const limits: { -readonly [Name in keyof CompartmentLimits]: number } = { ...DEFAULT_LIMITS }
  for (const name of Object.keys(DEFAULT_LIMITS) as (keyof CompartmentLimits)[]) {
    const most = written.first(({ extensions }) => member(extensions, id)?.limits?.[name])
      ?? written.first((config) => config.limits?.[name])
    limits[name] = stricter(own?.[name] ?? file.limits?.[name], most) ?? limits[name]
  }
  return limits
}

/**
 * The extension's configuration, overridden by the keys of its tools, without the keys that the host reads. An unknown
 * key of a tool is left out: the loader reports it.
 */
function configOf(descriptor: ExtensionDescriptor, settings: Settings): JsonObject {
  const { id, manifest } = descriptor
  const ofExtension = Object.entries(settings.extension(id).config ?? {})
    .filter(([key]) => !isCommonKey(key, descriptor))
  const ofTools = manifest.tools.flatMap(({ name }) => {
    const given = settings.tool(name) as JsonObject
    const unknown = unknownSettings(manifest.configSchema, given)
    return Object.entries(given).filter(([key]) => key !== 'enabled' && key !== 'timeoutMs'
      && !isCommonKey(key, descriptor) && !unknown.includes(key))
  })
  return Object.fromEntries([...ofExtension, ...ofTools]) as JsonObject
}
