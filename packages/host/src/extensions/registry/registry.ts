import {
  BulkheadError, isLockedTool, layerRank, type Diagnostic, type ExtensionDescriptor, type Layer, type ToolListing,
  type ToolManifest,
} from '@bulkhead/contract'
import type { Settings } from '../../model/settings.ts'
import type { Extension } from '../lifecycle/extension.ts'
import {
  hidingDiagnostic, prepareCandidate, registrationDiagnostic, type Candidate, type CandidateSources,
} from './candidate.ts'
import { compose, RegistryView, type Composition, type OfferedTools } from './offered-tools.ts'

/** An extension that could not become a candidate, and why. */
export interface Unprepared {
  readonly descriptor: ExtensionDescriptor
  readonly error: BulkheadError
}

/** A possible next state of the registry. */
export interface Proposal {
  readonly candidates: readonly Candidate[]
  readonly unprepared: readonly Unprepared[]
  readonly settings: Settings
  readonly composition: Composition
}

export type RegistrySources = Omit<CandidateSources, 'lookUp'>

/**
 * Which tool has a name, its origin, and what it hides. Every change is one assignment, so a reader sees the registry
 * before or after it. Starts and stops no extension.
 */
export class Registry {
  readonly #sources: RegistrySources
  /** The bundled tools with locked names, including disabled ones. */
  readonly #locked = new Map<string, ToolManifest>()
  #present: Proposal
  #view: RegistryView
  /** Set while it is tried. */
  #proposed: RegistryView | undefined
  #generation = 0

  constructor(sources: RegistrySources) {
    const { settings } = sources
    this.#sources = sources
    this.#present = { candidates: [], unprepared: [], settings, composition: compose([], this.#locked) }
    this.#view = this.#viewOf(this.#present)
  }

  /** A snapshot that does not change. */
  get view(): RegistryView {
    return this.#view
  }

  get settings(): Settings {
    return this.#present.settings
  }

  get candidates(): readonly Candidate[] {
    return this.#present.candidates
  }

  get unprepared(): readonly Unprepared[] {
    return this.#present.unprepared
  }

  /**
   * Adds all, then composes the offers once. A fault of one of them becomes a diagnostic. Throws, and changes
   * nothing, if an offered extension would have to go.
   */
  register(descriptors: readonly ExtensionDescriptor[]): readonly Extension[] {
    const { candidates, unprepared, settings } = this.#present
    this.learnLocked(descriptors)
    const enabled = descriptors.filter(({ id }) => settings.extension(id).enabled !== false)
    const prepared = enabled.map((descriptor) => this.prepare(descriptor, settings))
    const proposal = this.propose(
      [...candidates, ...prepared.filter(isCandidate)], [...unprepared, ...prepared.filter(isUnprepared)], settings,
    )
    const harmed = proposal.composition.refused.find(({ candidate }) => this.#view.serves(candidate.extension))
    if (harmed) throw harmed.error
    return this.commit(proposal)
  }

  /** Offers again what it hid. Returns the extensions to stop, in order. */
  unregister(id: string, layer: Layer): readonly Extension[] {
    const { candidates, unprepared, settings } = this.#present
    const stays = ({ descriptor }: { readonly descriptor: ExtensionDescriptor }) =>
      descriptor.id !== id || descriptor.layer !== layer
    return this.commit(this.propose(candidates.filter(stays), unprepared.filter(stays), settings))
  }

  /** Removes everything. Returns the extensions to stop, in order. */
  clear(): readonly Extension[] {
    return this.commit(this.propose([], [], this.#present.settings))
  }

  /** A tool that takes a locked name must match the one that ships with the host. */
  learnLocked(descriptors: readonly ExtensionDescriptor[]): void {
    for (const { layer, manifest } of descriptors) {
      for (const tool of manifest.tools) {
        if (layer === 'bundled' && isLockedTool(tool.name)) this.#locked.set(tool.name, tool)
      }
    }
  }

  prepare(found: ExtensionDescriptor, settings: Settings): Candidate | Unprepared {
    return this.prepareAgain(keepingBytes(found), settings)
  }

  /** Prepares it again with the same bytes. */
  prepareAgain(descriptor: ExtensionDescriptor, settings: Settings): Candidate | Unprepared {
    try {
      const lookUp: CandidateSources['lookUp'] = (id, asker) => this.#lookUp(id, asker)
      return prepareCandidate(descriptor, ++this.#generation, { ...this.#sources, settings, lookUp })
    } catch (thrown) {
      return { descriptor, error: BulkheadError.from(thrown) }
    }
  }

  /** Computes what would be offered. Until the next proposal or commit, extensions of this one find each other. */
  propose(candidates: readonly Candidate[], unprepared: readonly Unprepared[], settings: Settings): Proposal {
    const composition = compose(candidates, this.#locked)
    const proposal = { candidates, unprepared, settings, composition }
    this.#proposed = this.#viewOf(proposal)
    return proposal
  }

  /** Returns the extensions to stop, dependents before their dependencies. */
  commit(proposal: Proposal): readonly Extension[] {
    const before = this.extensions()
    const view = this.#viewOf(proposal)
    const after = new Set(proposal.candidates.map(({ extension }) => extension))
    const ranInVain = (extension: Extension) => extension.wasStarted && !view.serves(extension)
    const unwanted = new Set([...before, ...after].filter((extension) => !after.has(extension) || ranInVain(extension)))
    // An extension that ran and is hidden now will be stopped. A new one replaces it, in case it is offered again.
    const candidates = proposal.candidates.map((candidate) =>
      unwanted.has(candidate.extension) ? this.#again(candidate, proposal.settings) : candidate)
    this.#present = { ...proposal, candidates }
    this.#view = view
    this.#proposed = undefined
    this.#sources.events.emit({ type: 'ToolsChanged' })
    return [...unwanted].toReversed()
  }

  /** A snapshot of the offered tools. */
  offered(): OfferedTools {
    return this.#view.offered
  }

  extension(id: string): Extension | undefined {
    return this.#view.extension(id)
  }

  /** Every loaded extension, including hidden ones, each after its dependencies. */
  extensions(): readonly Extension[] {
    const { composition: { extensions, startOrder }, candidates } = this.#present
    const offered = new Set(startOrder.map((id) => extensions.get(id)!.extension))
    const below = candidates.map(({ extension }) => extension).filter((extension) => !offered.has(extension))
    return [...below, ...offered]
  }

  /** Extensions to start without a call. */
  eager(): readonly Extension[] {
    const offered = [...this.#present.composition.extensions.values()].map(({ extension }) => extension)
    return offered.filter(({ arrangement, wasStarted }) => arrangement.activation === 'eager' && !wasStarted)
  }

  list(): readonly ToolListing[] {
    return this.#view.list()
  }

  get diagnostics(): readonly Diagnostic[] {
    const { composition, unprepared, candidates } = this.#present
    const dropped = candidates
      .flatMap(({ descriptor, dropped: errors }) => errors.map((error) => registrationDiagnostic(descriptor, error)))
    const refused = composition.refused.map(({ candidate: { descriptor }, error }) => ({ descriptor, error }))
    return [...dropped, ...hidden(this.#present), ...[...unprepared, ...refused].map(({ descriptor, error }) => {
      const serving = this.extension(descriptor.id)?.descriptor.layer
      const isBelow = serving !== undefined && layerRank(serving) < layerRank(descriptor.layer)
      return registrationDiagnostic(descriptor, error, isBelow ? serving : undefined)
    })]
  }

  #viewOf({ composition, settings }: Proposal): RegistryView {
    const now = () => ({ offers: this.#present.composition.offers, settings: this.#present.settings })
    return new RegistryView(composition, settings, now)
  }

  /** An extension that is tried finds the others of its proposal. */
  #lookUp(id: string, asker: Extension): Extension | undefined {
    const view = this.#view.serves(asker) ? this.#view : this.#proposed ?? this.#view
    return view.extension(id)
  }

  #again(candidate: Candidate, settings: Settings): Candidate {
    const prepared = this.prepareAgain(candidate.descriptor, settings)
    return isCandidate(prepared) ? prepared : candidate
  }
}

/** Extensions whose id a higher layer has too, if tools are missing because of it. */
function hidden({ candidates, composition: { extensions, offers } }: Proposal): readonly Diagnostic[] {
  return candidates.flatMap(({ descriptor, tools }) => {
    const used = extensions.get(descriptor.id)?.descriptor
    const isHidden = used !== undefined && layerRank(used.layer) > layerRank(descriptor.layer)
    const gone = isHidden ? tools.map(({ name }) => name).filter((name) => !offers.has(name)) : []
    return gone.length === 0 ? [] : [hidingDiagnostic(used!, descriptor, gone)]
  })
}

export const isCandidate = (prepared: Candidate | Unprepared): prepared is Candidate => 'extension' in prepared
const isUnprepared = (prepared: Candidate | Unprepared): prepared is Unprepared => 'error' in prepared

/**
 * Keeps the bytes once they are read, so that a running extension can be started again or brought back after its files
 * have changed.
 */
function keepingBytes(descriptor: ExtensionDescriptor): ExtensionDescriptor {
  const { code } = descriptor
  if (code.kind !== 'files') return descriptor
  let read: ReturnType<typeof code.readFiles> | undefined
  const readFiles = () => {
    read ??= code.readFiles().catch((thrown: unknown) => {
      read = undefined
      throw thrown
    })
    return read
  }
  return { ...descriptor, code: { ...code, readFiles } }
}
