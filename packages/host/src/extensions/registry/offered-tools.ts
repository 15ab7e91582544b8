import { closeNames } from '@bulkhead/kit/text'
import type { Offer } from './composition.ts'
import type { Settings } from '../../model/settings.ts'
import type { ToolEntry } from './tool-entry.ts'

type Offers = ReadonlyMap<string, Offer>

/** What is offered at the moment somebody asks. */
export interface Present {
  readonly offers: Offers
  readonly settings: Settings
}

/**
 * Which tools answered to which names at one moment. Nothing registered later changes it, so a turn can live by it; only an
 * extension that says of itself that it may change within a turn is looked up anew.
 */
export class OfferedTools {
  readonly #offers: Offers
  readonly #now: () => Present
  readonly #settings: Settings
  readonly #only: ReadonlySet<string> | undefined
  #enabled: readonly Offer[] | undefined

  constructor(offers: Offers, settings: Settings, now: () => Present, only?: ReadonlySet<string>) {
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
    return tool?.extension.descriptor.manifest.reloadBehavior === 'in-turn' ? this.#now().offers.get(name)?.tool : tool
  }

  /** Why the configuration does not let the tool be called, or undefined. What it has switched off meanwhile is off too. */
  switchedOff(name: string): string | undefined {
    const { offers, settings } = this.#now()
    return whyOff(name, this.#offers, this.#settings) ?? whyOff(name, offers, settings)
  }

  /** Enabled ones in the order of their names. */
  enabled(): readonly Offer[] {
    this.#enabled ??= [...this.#offers.values()]
      .filter(({ tool }) => this.#has(tool.name) && whyOff(tool.name, this.#offers, this.#settings) === undefined)
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

function whyOff(name: string, offers: Offers, settings: Settings): string | undefined {
  if (settings.file.toolsEnabled === false) return 'Tools are switched off by the configuration.'
  return settings.common('enabled', name, offers.get(name)?.tool.extension.descriptor) === false ? `The tool "${name}" is switched off by the configuration.` : undefined
}
