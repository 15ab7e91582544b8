import { DEFAULT_LIMITS, type CompartmentLimits, type ExtensionDescriptor, type Placement } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { isCommonKey, type Settings } from './settings.ts'

/** How one extension is to run, as configuration and layer have it. */
export interface Arrangement {
  readonly placement: Placement
  readonly limits: CompartmentLimits
  readonly config: JsonObject
  /** Over how many its calls are spread. */
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

/** A stranger gets a process unless somebody said `thread`; inline is for code that ships with the host. */
function placementOf({ id, layer, code }: ExtensionDescriptor, settings: Settings): Placement {
  if (code.kind === 'module') return 'inline'
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

/** The extension's configuration, and over it the own keys of its tools. What the host itself reads is left out. */
function configOf(descriptor: ExtensionDescriptor, settings: Settings): JsonObject {
  const { id, manifest } = descriptor
  const ofExtension = Object.entries(settings.extension(id).config ?? {}).filter(([key]) => !isCommonKey(key, descriptor))
  const ofTools = manifest.tools.flatMap(({ name }) =>
    Object.entries(settings.tool(name)).filter(([key]) => key !== 'enabled' && key !== 'timeoutMs'))
  return Object.fromEntries([...ofExtension, ...ofTools]) as JsonObject
}
