import {
  BulkheadError, dependencyCycleFault, findIdConflicts, findLockedToolFault, findToolNameConflicts, layerRank,
  missingDependencyFault, orderDependencies, PROGRAM_TOOL, type ConnectedServer, type Registrant, type RegistrationFault,
  type ToolDefinition, type ToolListing, type ToolManifest,
} from '@bulkhead/contract'
import { expandToolNames } from '@bulkhead/contract/dialects'
import { closeNames } from '@bulkhead/kit/text'
import type { Settings } from '../../model/settings.ts'
import type { Extension } from '../lifecycle/extension.ts'
import type { Candidate } from './candidate.ts'
import { withCopiedSchemas, type ToolEntry } from './tool-entry.ts'

/** One offered name: its tool and the tools that it hides, nearest first. */
export interface Offer {
  readonly tool: ToolEntry
  readonly generation: number
  readonly hides: readonly ToolEntry[]
}

type Offers = ReadonlyMap<string, Offer>

interface Refused {
  readonly candidate: Candidate
  readonly error: BulkheadError
}

export interface Composition {
  readonly offers: Offers
  readonly extensions: ReadonlyMap<string, Candidate>
  /** Ids, each after its dependencies. */
  readonly startOrder: readonly string[]
  readonly refused: readonly Refused[]
}

/**
 * Decides which tool has which name. Of the candidates with one id the highest layer wins, and so of the tools with one
 * name. An extension that violates a rule is rejected and the next layer below is tried. Pure. `locked`: the bundled
 * tools with locked names, including disabled ones.
 */
export function compose(candidates: readonly Candidate[], locked: ReadonlyMap<string, ToolManifest>): Composition {
  const conflicts = findIdConflicts(candidates.map(registrantOf))
  const faults = new Map([...conflicts].map(([{ candidate }, fault]) => [candidate, errorOf(fault)]))
  for (;;) {
    const usable = candidates.filter((candidate) => !faults.has(candidate))
    const chosen = highestOfEachId(usable)
    const { order, found } = check([...chosen.values()], locked)
    if (found.size === 0) {
      const refused = [...faults].map(([candidate, error]) => ({ candidate, error }))
      return { offers: offersOf(chosen, usable), extensions: chosen, startOrder: order, refused }
    }
    for (const [candidate, error] of found) faults.set(candidate, error)
  }
}

function highestOfEachId(candidates: readonly Candidate[]): Map<string, Candidate> {
  const highest = new Map<string, Candidate>()
  for (const candidate of candidates) {
    const other = highest.get(candidate.descriptor.id)
    if (!other || rank(candidate) > rank(other)) highest.set(candidate.descriptor.id, candidate)
  }
  return highest
}

function check(chosen: readonly Candidate[], locked: ReadonlyMap<string, ToolManifest>) {
  const registrants = chosen.map(registrantOf)
  const { order, missing, circular } = orderDependencies(registrants)
  const conflicts = findToolNameConflicts(registrants)
  const found = new Map<Candidate, BulkheadError>()
  for (const registrant of registrants) {
    const { candidate, id } = registrant
    const gap = missing.get(id)
    const cycle = circular.get(id)
    const fault = findLockFault(candidate, locked) ?? conflicts.get(registrant)
      ?? (gap === undefined ? undefined : missingDependencyFault(registrant, gap, 'is not loaded'))
      ?? (cycle && dependencyCycleFault(registrant, cycle))
    if (fault) found.set(candidate, errorOf(fault))
  }
  return { order, found }
}

function findLockFault(
  { descriptor, tools }: Candidate, locked: ReadonlyMap<string, ToolManifest>,
): RegistrationFault | undefined {
  if (descriptor.layer === 'bundled') return undefined
  for (const [index, { name, definition }] of tools.entries()) {
    const fault = findLockedToolFault(definition, index, locked.get(name))
    if (fault) return fault
  }
  return undefined
}

function registrantOf(candidate: Candidate): Registrant & { readonly candidate: Candidate } {
  const { descriptor: { id, layer, location, manifest: { dependsOn } }, tools } = candidate
  return { candidate, id, layer, location, toolNames: tools.map(({ name }) => name), dependsOn }
}

const errorOf = ({ code, path, message }: RegistrationFault) => new BulkheadError(code, message, { data: { path } })

function offersOf(chosen: ReadonlyMap<string, Candidate>, usable: readonly Candidate[]): Offers {
  const nearestFirst = usable.toSorted((a, b) => rank(b) - rank(a))
  const byName = Map.groupBy(
    nearestFirst.flatMap((candidate) => candidate.tools.map((tool) => ({ candidate, tool }))),
    ({ tool }) => tool.name,
  )
  return new Map([...byName].flatMap(([name, claimants]) => {
    // A replaced extension does not offer the tools that its replacement dropped.
    const winner = claimants.find(({ candidate }) => chosen.get(candidate.descriptor.id) === candidate)
    if (!winner) return []
    const hides = claimants.filter(({ candidate }) => rank(candidate) < rank(winner.candidate)).map(({ tool }) => tool)
    return [[name, { tool: winner.tool, generation: winner.candidate.generation, hides }]]
  }))
}

const rank = ({ descriptor }: Candidate): number => layerRank(descriptor.layer)

/** The current offers. */
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
  readonly #codeMode: boolean
  /** Tools that an operator switched off for a session. */
  readonly #off: ReadonlySet<string>
  #enabled: readonly Offer[] | undefined
  #definitions: readonly ToolDefinition[] | undefined
  #inCodeMode: OfferedTools | undefined
  /** By the list of a session, because each of its calls needs the result. */
  readonly #switched = new WeakMap<ReadonlySet<string>, OfferedTools>()
  readonly #limited = new WeakMap<readonly string[], OfferedTools>()

  constructor(
    offers: Offers, settings: Settings, now: () => Present, only?: ReadonlySet<string>, codeMode = false,
    off: ReadonlySet<string> = NONE_OFF,
  ) {
    this.#offers = offers
    this.#settings = settings
    this.#now = now
    this.#only = only
    this.#codeMode = codeMode
    this.#off = off
  }

  /** Limited to the tools that the entries select: names, aliases, patterns with `*`, and first parts of names. */
  within(entries: readonly string[] | undefined): OfferedTools {
    if (entries === undefined) return this
    return this.#limited.getOrInsertComputed(entries, () => {
      const only = expandToolNames(entries, this.#only ?? new Set(this.#offers.keys()))
      return new OfferedTools(this.#offers, this.#settings, this.#now, only, this.#codeMode, this.#off)
    })
  }

  /** The same without the tools that an operator switched off. */
  without(off: ReadonlySet<string>): OfferedTools {
    if (off.size === 0) return this
    return this.#switched.getOrInsertComputed(off, () =>
      new OfferedTools(this.#offers, this.#settings, this.#now, this.#only, this.#codeMode, off.union(this.#off)))
  }

  /** The same with `code_mode`, unless the configuration turns that off. */
  inCodeMode(): OfferedTools {
    if (this.#codeMode) return this
    this.#inCodeMode ??= new OfferedTools(this.#offers, this.#settings, this.#now, this.#only, true, this.#off)
    return this.#inCodeMode
  }

  get(name: string): ToolEntry | undefined {
    const tool = this.#has(name) ? this.#offers.get(name)?.tool : undefined
    return tool?.extension.descriptor.manifest.reloadBehavior === 'in-turn' ? this.#now().offers.get(name)?.tool : tool
  }

  /** Why the current configuration disables the tool, or undefined. */
  switchedOff(name: string): string | undefined {
    const { offers, settings } = this.#now()
    const isNow = offers === this.#offers && settings === this.#settings
    const off = this.#whyOff(name, this.#offers, this.#settings)
    return off !== undefined || isNow ? off : this.#whyOff(name, offers, settings)
  }

  /** Enabled tools, sorted by name. */
  enabled(): readonly Offer[] {
    this.#enabled ??= [...this.#offers.values()]
      .filter(({ tool: { name } }) => this.#has(name) && this.#whyOff(name, this.#offers, this.#settings) === undefined)
      .toSorted((a, b) => (a.tool.name < b.tool.name ? -1 : 1))
    return this.#enabled
  }

  /** Of the enabled tools, for callers. */
  definitions(): readonly ToolDefinition[] {
    this.#definitions ??= Object.freeze(this.enabled().map(({ tool }) => tool.shown))
    return this.#definitions
  }

  closeNames(name: string): readonly string[] {
    return closeNames(name, this.enabled().map(({ tool }) => tool.name))
  }

  #has(name: string): boolean {
    return this.#only?.has(name) ?? true
  }

  #whyOff(name: string, offers: Offers, settings: Settings): string | undefined {
    if (this.#off.has(name)) return `The tool "${name}" was switched off for this session by an operator.`
    if (settings.file.toolsEnabled === false) return 'Tools are disabled by the configuration.'
    const descriptor = offers.get(name)?.tool.extension.descriptor
    const enabled = settings.common('enabled', name, descriptor)
    if (enabled === false) return `The tool "${name}" is disabled by ${settings.disabledBy(name, descriptor)}.`
    return name !== PROGRAM_TOOL || enabled === true || this.#codeMode ? undefined : NOT_IN_CODE_MODE
  }
}

const NONE_OFF: ReadonlySet<string> = new Set()
const NOT_IN_CODE_MODE = `The tool "${PROGRAM_TOOL}" is off. Open the session with \`codeMode: true\`, or set `
  + `tools.${PROGRAM_TOOL}.enabled in the configuration.`

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
