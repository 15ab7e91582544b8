import {
  BulkheadError, dependencyCycleFault, findIdConflicts, findLockedToolFault, findToolNameConflicts, layerRank,
  missingDependencyFault, orderDependencies, type Registrant, type RegistrationFault, type ToolManifest,
} from '@bulkhead/contract'
import type { Candidate } from './candidate.ts'
import type { ToolEntry } from './tool-entry.ts'

/** One offered name: its tool and the tools that it hides, nearest first. */
export interface Offer {
  readonly tool: ToolEntry
  readonly generation: number
  readonly hides: readonly ToolEntry[]
}

export interface Refused {
  readonly candidate: Candidate
  readonly error: BulkheadError
}

export interface Composition {
  readonly offers: ReadonlyMap<string, Offer>
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
    const standing = candidates.filter((candidate) => !faults.has(candidate))
    const chosen = highestOfEachId(standing)
    const { order, found } = check([...chosen.values()], locked)
    if (found.size === 0) {
      const refused = [...faults].map(([candidate, error]) => ({ candidate, error }))
      return { offers: offersOf(chosen, standing), extensions: chosen, startOrder: order, refused }
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

function findLockFault({ descriptor, tools }: Candidate, locked: ReadonlyMap<string, ToolManifest>): RegistrationFault | undefined {
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

function offersOf(chosen: ReadonlyMap<string, Candidate>, standing: readonly Candidate[]): ReadonlyMap<string, Offer> {
  const nearestFirst = standing.toSorted((a, b) => rank(b) - rank(a))
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
