import type { ToolListing } from '@bulkhead/contract'
import { closeNames } from './close-names.ts'
import type { Composition, Offer } from './composition.ts'
import type { Extension } from './extension.ts'
import type { Settings } from './settings.ts'
import type { ToolEntry } from './tool-entry.ts'

/** Which tool answered to a name at one moment. Never changes: what is loaded later makes another view. */
export class RegistryView {
  readonly settings: Settings
  readonly #composition: Composition
  #enabled: readonly Offer[] | undefined

  constructor(composition: Composition, settings: Settings) {
    this.settings = settings
    this.#composition = composition
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

  serves(extension: Extension): boolean {
    return this.extension(extension.descriptor.id) === extension
  }

  /** Why the configuration does not let the tool be called, or undefined. */
  switchedOff(name: string): string | undefined {
    if (this.settings.file.toolsEnabled === false) return 'Tools are switched off by the configuration.'
    return this.settings.tool(name).enabled === false ? `The tool "${name}" is switched off by the configuration.` : undefined
  }

  /** Enabled tools in the order of their names. */
  tools(): readonly ToolEntry[] {
    return this.#enabledOffers().map(({ tool }) => tool)
  }

  list(): readonly ToolListing[] {
    return this.#enabledOffers().map(toListing)
  }

  listing(name: string): ToolListing | undefined {
    const offer = this.#composition.offers.get(name)
    return offer && this.switchedOff(name) === undefined ? toListing(offer) : undefined
  }

  closeNames(name: string): readonly string[] {
    return closeNames(name, this.#enabledOffers().map(({ tool }) => tool.name))
  }

  #enabledOffers(): readonly Offer[] {
    this.#enabled ??= [...this.#composition.offers.values()]
      .filter(({ tool }) => this.switchedOff(tool.name) === undefined)
      .toSorted((a, b) => (a.tool.name < b.tool.name ? -1 : 1))
    return this.#enabled
  }
}

function toListing({ tool, generation, hides }: Offer): ToolListing {
  const { descriptor, state } = tool.extension
  return {
    ...tool.definition,
    layer: descriptor.layer,
    extension: descriptor.id,
    version: descriptor.version,
    generation,
    state,
    integrity: descriptor.integrity,
    packageDigest: descriptor.digests.package,
    shadows: hides.map(({ origin: { layer, extension, version } }) => ({ layer, extension, version })),
    gatedByHost: tool.gatedByHost,
  }
}
