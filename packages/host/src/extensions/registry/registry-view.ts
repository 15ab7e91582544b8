import type { ConnectedServer, ToolListing } from '@bulkhead/contract'
import type { Composition, Offer } from './composition.ts'
import type { Extension } from '../lifecycle/extension.ts'
import { withCopiedSchemas } from './copied-schemas.ts'
import { OfferedTools, type Present } from './offered-tools.ts'
import type { Settings } from '../../model/settings.ts'

/** The registry of one moment. Never changes: what is loaded later makes another. */
export class RegistryView {
  /** For a session or a turn to live by. */
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
