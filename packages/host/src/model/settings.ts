import {
  ceilingsOf, DEFAULT_LIMITS, type Ceiling, type CompartmentLimits, type ConfigFile, type ExtensionConfig,
  type ExtensionDescriptor, type Layer, type LayerConfig, type Placement, type ResolvedConfig, type RuleScope,
  type ScopedRule, type ToolConfig,
} from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'

type ConfigLayer = LayerConfig['layer']

/** Diagnostics have no layer for the embedder and the machine. */
export const diagnosticLayer = (layer: ConfigLayer): Layer =>
  layer === 'embedder' || layer === 'machine' ? 'bundled' : layer

/** The merged configuration. Records are maps, because third parties choose the names. */
export class Settings {
  readonly file: ConfigFile
  /** Rules of every layer, in the order of their scopes. */
  readonly rules: readonly ScopedRule[]
  readonly layers: readonly LayerConfig[]
  /** The policy of the machine, which nothing can loosen. */
  readonly machine: ConfigFile
  /** All of them apply. */
  readonly ceilings: readonly Ceiling[]
  readonly #tools: ReadonlyMap<string, ToolConfig>
  readonly #extensions: ReadonlyMap<string, ExtensionConfig>
  readonly #roles: ReadonlyMap<string, boolean>

  constructor({ merged, layers }: ResolvedConfig) {
    this.file = merged
    this.layers = layers
    this.machine = layers.find(({ layer }) => layer === 'machine')?.config ?? {}
    this.ceilings = ceilingsOf({ merged, layers })
    this.rules = layers.toSorted((a, b) => SCOPE_ORDER[a.layer] - SCOPE_ORDER[b.layer]).flatMap(scopedRules)
    this.#tools = new Map(Object.entries(merged.tools ?? {}))
    this.#extensions = new Map(Object.entries(merged.extensions ?? {}))
    this.#roles = new Map(Object.entries(merged.roles ?? {}))
  }

  tool(name: string): ToolConfig {
    return this.#tools.get(name) ?? {}
  }

  extension(id: string): ExtensionConfig {
    return this.#extensions.get(id) ?? {}
  }

  /** A key that the host reads: of the tool's entry, else of its extension's `config`. */
  common<Key extends CommonKey>(key: Key, tool: string, descriptor: ExtensionDescriptor | undefined): ToolConfig[Key] {
    const own = this.tool(tool)[key]
    if (own !== undefined || descriptor === undefined) return own
    const { config } = this.extension(descriptor.id)
    return config && isCommonKey(key, descriptor) ? config[key] as ToolConfig[Key] : undefined
  }

  roleFlag(tool: string, role: string | undefined): RoleFlag | undefined {
    return roleFlag(this.#roles, tool, role)
  }
}

type CommonKey = 'enabled' | 'timeoutMs'
const COMMON_KEYS: ReadonlySet<string> = new Set<CommonKey>(['enabled', 'timeoutMs'])

/** Whether the host reads the key of an extension's configuration: not if the extension declares it. */
function isCommonKey(key: string, { manifest: { configSchema } }: Pick<ExtensionDescriptor, 'manifest'>): boolean {
  if (!COMMON_KEYS.has(key)) return false
  const own = configSchema['properties']
  return typeof own !== 'object' || own === null || !Object.hasOwn(own, key)
}

export interface RoleFlag {
  readonly name: string
  readonly allowed: boolean
}

/** The flag that applies to the tool, or undefined. */
export function roleFlag(
  flags: ReadonlyMap<string, boolean>, tool: string, role: string | undefined,
): RoleFlag | undefined {
  const names = role === undefined ? [`allow_${tool}`] : [`allow_${tool}_${role}`, `allow_${tool}`]
  const name = names.find((candidate) => flags.has(candidate))
  return name === undefined ? undefined : { name, allowed: flags.get(name)! }
}

/**
 * The policy of the machine, bundled configuration and that of the embedder have the scope of the author: a deny there
 * is final. The two files of the user have the scope of the project.
 */
const SCOPES: Readonly<Record<ConfigLayer, RuleScope>> = {
  machine: 'manifest', bundled: 'manifest', embedder: 'manifest', global: 'project', project: 'project',
}
const SCOPE_ORDER: Readonly<Record<ConfigLayer, number>> = {
  machine: 0, bundled: 1, embedder: 2, global: 3, project: 4,
}
const AUTHORS: Partial<Record<ConfigLayer, NonNullable<ScopedRule['author']>>> = { machine: 'machine', global: 'user' }

const scopedRules = (layer: LayerConfig): ScopedRule[] => (layer.config.rules ?? []).map((rule, index) =>
  ({
    ...rule, scope: SCOPES[layer.layer], ...(AUTHORS[layer.layer] && { author: AUTHORS[layer.layer] }),
    source: `${layer.location}#${writtenPlace(layer, '/rules', index)}`,
  }))

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
  readonly activation: 'first-call' | 'eager'
}

export function arrange(descriptor: ExtensionDescriptor, settings: Settings): Arrangement {
  const own = settings.extension(descriptor.id)
  return {
    placement: placementOf(descriptor, settings),
    limits: limitsFrom(settings.file.limits, own.limits),
    config: configOf(descriptor, settings),
    compartments: own.compartments ?? 1,
    activation: own.activation ?? descriptor.manifest.discoveryRules.activation,
  }
}

/** Third-party code gets a process unless `thread` is configured. Inline is for bundled code. */
function placementOf({ id, layer, code }: ExtensionDescriptor, settings: Settings): Placement {
  if (code.kind === 'module') return 'inline'
  if (layer !== 'bundled' && settings.machine.isolation?.[layer]) return 'process'
  const wanted = settings.extension(id).isolation ?? settings.file.isolation?.[layer] ?? 'process'
  return wanted === 'inline' && layer !== 'bundled' ? 'process' : wanted
}

type PartialLimits = { readonly [Name in keyof CompartmentLimits]?: number | undefined }

function limitsFrom(...later: readonly (PartialLimits | undefined)[]): CompartmentLimits {
  const limits: { -readonly [Name in keyof CompartmentLimits]: number } = { ...DEFAULT_LIMITS }
  for (const name of Object.keys(DEFAULT_LIMITS) as (keyof CompartmentLimits)[]) {
    for (const given of later) limits[name] = given?.[name] ?? limits[name]
  }
  return limits
}

/** The extension's configuration, overridden by the keys of its tools, without the keys that the host reads. */
function configOf(descriptor: ExtensionDescriptor, settings: Settings): JsonObject {
  const { id, manifest } = descriptor
  const ofExtension = Object.entries(settings.extension(id).config ?? {})
    .filter(([key]) => !isCommonKey(key, descriptor))
  const ofTools = manifest.tools.flatMap(({ name }) =>
    Object.entries(settings.tool(name)).filter(([key]) => key !== 'enabled' && key !== 'timeoutMs'))
  return Object.fromEntries([...ofExtension, ...ofTools]) as JsonObject
}
