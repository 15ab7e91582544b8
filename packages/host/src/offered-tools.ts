import { closeNames } from './close-names.ts'
import type { Offer } from './composition.ts'
import type { Settings } from './settings.ts'
import type { ToolEntry } from './tool-entry.ts'

type Offers = ReadonlyMap<string, Offer>

/**
 * Which tools answered to which names at one moment. Nothing registered later changes it, so a turn can live by it; only an
 * extension that says of itself that it may change within a turn is looked up anew.
 */
export class OfferedTools {
  readonly #offers: Offers
  readonly #now: () => Offers
  readonly #settings: Settings
  readonly #only: ReadonlySet<string> | undefined
  #enabled: readonly Offer[] | undefined

  constructor(offers: Offers, settings: Settings, now: () => Offers, only?: ReadonlySet<string>) {
    this.#offers = offers
    this.#settings = settings
    this.#now = now
    this.#only = only
  }

  /** No more than these names of it. */
  within(names: ReadonlySet<string> | undefined): OfferedTools {
    if (names === undefined) return this
    return new OfferedTools(this.#offers, this.#settings, this.#now, this.#only ? names.intersection(this.#only) : names)
  }

  get(name: string): ToolEntry | undefined {
    const tool = this.#has(name) ? this.#offers.get(name)?.tool : undefined
    return tool?.extension.descriptor.manifest.reloadBehavior === 'in-turn' ? this.#now().get(name)?.tool : tool
  }

  /** Why the configuration does not let the tool be called, or undefined. */
  switchedOff(name: string): string | undefined {
    if (this.#settings.file.toolsEnabled === false) return 'Tools are switched off by the configuration.'
    return this.#settings.tool(name).enabled === false ? `The tool "${name}" is switched off by the configuration.` : undefined
  }

  /** Enabled ones in the order of their names. */
  enabled(): readonly Offer[] {
    this.#enabled ??= [...this.#offers.values()]
      .filter(({ tool }) => this.#has(tool.name) && this.switchedOff(tool.name) === undefined)
      .toSorted((a, b) => (a.tool.name < b.tool.name ? -1 : 1))
    return this.#enabled
  }

  closeNames(name: string): readonly string[] {
    return closeNames(name, this.enabled().map(({ tool }) => tool.name))
  }

  #has(name: string): boolean {
    return this.#only?.has(name) ?? true
  }
}
