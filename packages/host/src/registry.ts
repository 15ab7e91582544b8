import {
  BulkheadError, isLockedTool, layerRank, type Diagnostic, type ExtensionDescriptor, type Layer, type ToolListing,
  type ToolManifest,
} from '@bulkhead/contract'
import { prepareCandidate, registrationDiagnostic, type Candidate, type CandidateSources } from './candidate.ts'
import { compose, type Composition, type Offer } from './composition.ts'
import type { Extension } from './extension.ts'
import { OfferedTools } from './offered-tools.ts'
import type { Settings } from './settings.ts'
import type { ToolEntry } from './tool-entry.ts'

/** Which tool answers to a name, where it comes from, and what it hides. Owns no code: extensions are started elsewhere. */
export class Registry {
  readonly #sources: Omit<CandidateSources, 'extensionById'>
  readonly #settings: Settings
  readonly #unprepared: { readonly descriptor: ExtensionDescriptor; readonly error: BulkheadError }[] = []
  readonly #locked = new Map<string, ToolManifest>()
  #candidates: readonly Candidate[] = []
  #composition: Composition = compose([], this.#locked)
  #generation = 0

  constructor(sources: Omit<CandidateSources, 'extensionById'>) {
    this.#sources = sources
    this.#settings = sources.settings
  }

  /** Adds all, then decides once who is offered. Never throws for what it is given: a fault becomes a diagnostic. */
  register(descriptors: readonly ExtensionDescriptor[]): void {
    for (const { layer, manifest } of descriptors) {
      for (const tool of manifest.tools) if (layer === 'bundled' && isLockedTool(tool.name)) this.#locked.set(tool.name, tool)
    }
    const enabled = descriptors.filter(({ id }) => this.#settings.extension(id).enabled !== false)
    this.#candidates = [...this.#candidates, ...enabled.flatMap((descriptor) => this.#prepare(descriptor) ?? [])]
    this.#composition = compose(this.#candidates, this.#locked)
  }

  /** What it hid is offered again. Returns the extension, for whoever must stop it; undefined when there is none. */
  unregister(id: string, layer: Layer): Extension | undefined {
    const gone = this.#candidates.find(({ descriptor }) => descriptor.id === id && descriptor.layer === layer)
    this.#candidates = this.#candidates.filter((candidate) => candidate !== gone)
    this.#composition = compose(this.#candidates, this.#locked)
    return gone?.extension
  }

  /** Forgets everything. Returns the extensions, in the order to stop them. */
  clear(): readonly Extension[] {
    const all = this.extensions()
    this.#candidates = []
    this.#composition = compose([], this.#locked)
    return all.toReversed()
  }

  get(name: string): ToolEntry | undefined {
    return this.#composition.offers.get(name)?.tool
  }

  /** Rises with every registration of whatever answers to the name. */
  generation(name: string): number | undefined {
    return this.#composition.offers.get(name)?.generation
  }

  extension(id: string): Extension | undefined {
    return this.#composition.extensions.get(id)?.extension
  }

  /** Every loaded extension, hidden ones too, each after those it depends on. */
  extensions(): readonly Extension[] {
    const { extensions, startOrder } = this.#composition
    const offered = new Set(startOrder.map((id) => extensions.get(id)!.extension))
    const hidden = this.#candidates.map(({ extension }) => extension).filter((extension) => !offered.has(extension))
    return [...hidden, ...offered]
  }

  /** Those to start without waiting for a call. */
  eager(): readonly Extension[] {
    const offered = [...this.#composition.extensions.values()].map(({ extension }) => extension)
    return offered.filter(({ activation }) => activation === 'eager')
  }

  /** What is offered now, whatever is registered later. */
  offered(): OfferedTools {
    return new OfferedTools(this.#composition.offers, this.#settings)
  }

  list(): readonly ToolListing[] {
    return this.offered().enabled().map(toListing)
  }

  get diagnostics(): readonly Diagnostic[] {
    const refused = this.#composition.refused.map(({ candidate: { descriptor }, error }) => ({ descriptor, error }))
    return [...this.#unprepared, ...refused].map(({ descriptor, error }) => {
      const serving = this.extension(descriptor.id)?.descriptor.layer
      const isBelow = serving !== undefined && layerRank(serving) < layerRank(descriptor.layer)
      return registrationDiagnostic(descriptor, error, isBelow ? serving : undefined)
    })
  }

  #prepare(descriptor: ExtensionDescriptor): Candidate | undefined {
    try {
      return prepareCandidate(descriptor, ++this.#generation, { ...this.#sources, extensionById: (id) => this.extension(id) })
    } catch (thrown) {
      this.#unprepared.push({ descriptor, error: BulkheadError.from(thrown) })
      return undefined
    }
  }
}

function toListing({ tool, hides }: Offer): ToolListing {
  const { descriptor, state } = tool.extension
  return {
    ...tool.definition,
    layer: descriptor.layer,
    extension: descriptor.id,
    version: descriptor.version,
    state,
    integrity: descriptor.integrity,
    packageDigest: descriptor.digests.package,
    shadows: hides.map(({ origin: { layer, extension, version } }) => ({ layer, extension, version })),
    gatedByHost: tool.gatedByHost,
  }
}
