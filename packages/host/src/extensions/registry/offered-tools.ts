import type { ConnectedServer, ToolListing } from '@bulkhead/contract'
import { closeNames } from '@bulkhead/kit/text'
import type { Settings } from '../../model/settings.ts'
import type { Extension } from '../lifecycle/extension.ts'
import type { Composition, Offer } from './composition.ts'
import { withCopiedSchemas, type ToolEntry } from './tool-entry.ts'

type Offers = ReadonlyMap<string, Offer>

/** What is offered now. */
export interface Present {
  readonly offers: Offers
  readonly settings: Settings
}

/**
 * A snapshot of the tools by name, which later registrations do not change. Only `in-turn` extensions are looked up for
 * every call.
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

  /** Limited to these names. */
  within(names: ReadonlySet<string> | undefined): OfferedTools {
    if (names === undefined) return this
    return new OfferedTools(this.#offers, this.#settings, this.#now, this.#only ? names.intersection(this.#only) : names)
  }

  get(name: string): ToolEntry | undefined {
    const tool = this.#has(name) ? this.#offers.get(name)?.tool : undefined
    return tool?.extension.descriptor.manifest.reloadBehavior === 'in-turn' ? this.#now().offers.get(name)?.tool : tool
  }

  /** Why the current configuration disables the tool, or undefined. */
  switchedOff(name: string): string | undefined {
    const { offers, settings } = this.#now()
    return whyOff(name, this.#offers, this.#settings) ?? whyOff(name, offers, settings)
  }

  /** Enabled tools, sorted by name. */
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
  if (settings.file.toolsEnabled === false) return 'Tools are disabled by the configuration.'
  const enabled = settings.common('enabled', name, offers.get(name)?.tool.extension.descriptor)
  return enabled === false ? `The tool "${name}" is disabled by the configuration.` : undefined
}

/** An immutable snapshot of the registry. */
export class RegistryView {
  /** For a session or a turn. */
  readonly offered: OfferedTools
  readonly #composition: Composition

  constructor(composition: Composition, settings: Settings, now: () => Present) {
    this.offered = new OfferedTools(composition.offers, settings, now)
    this.#composition = composition
  }

  extension(id: string): Extension | undefined {
    return this.#composition.extensions.get(id)?.extension
  }

  serves(extension: Extension): boolean {
    return this.extension(extension.descriptor.id) === extension
  }

  list(): readonly ToolListing[] {
    return this.offered.enabled().map(toListing)
  }

  listing(name: string): ToolListing | undefined {
    const offer = this.#composition.offers.get(name)
    return offer && this.offered.switchedOff(name) === undefined ? toListing(offer) : undefined
  }
}

function toListing({ tool, generation, hides }: Offer): ToolListing {
  const { descriptor, state } = tool.extension
  return withCopiedSchemas({
    ...tool.definition,
    layer: descriptor.layer,
    extension: descriptor.id,
    version: descriptor.version,
    generation,
    state,
    integrity: descriptor.integrity,
    env: descriptor.manifest.env,
    secrets: descriptor.manifest.secrets,
    may: tool.may(),
    packageDigest: descriptor.digests.package,
    shadows: hides.map(({ origin: { layer, extension, version } }) => ({ layer, extension, version })),
    ...(descriptor.server && { server: listedServer(descriptor.server) }),
    gatedByHost: tool.gatedByHost,
  })
}

const listedServer = ({ kind, name, address, unconfined }: ConnectedServer): NonNullable<ToolListing['server']> =>
  ({ kind, name, address, ...(unconfined && { unconfined }) })
