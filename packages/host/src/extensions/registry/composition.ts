import { beyond, BulkheadError, declaredPower, isLockedTool, layerRank, type ErrorCode, type Layer, type ToolManifest } from '@bulkhead/contract'
import { canonicalJson } from '@bulkhead/kit/json'
import type { Candidate } from './candidate.ts'
import { orderDependencies, type DependencyOrder } from './dependencies.ts'
import type { ToolEntry } from './tool-entry.ts'

/** One name as it is offered: the tool that answers and those it hides, nearest first. */
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
  /** Ids, each after those it depends on. */
  readonly startOrder: readonly string[]
  readonly refused: readonly Refused[]
}

/**
 * Who answers to which name. Of the candidates with one id the highest layer is taken; of the tools with one name
 * again. Whoever breaks a rule is refused and the next layer below is tried, until nothing is left to refuse. Pure.
 * `locked`: the tools that ship with the host under locked names, also where they are switched off.
 */
export function compose(candidates: readonly Candidate[], locked: ReadonlyMap<string, ToolManifest>): Composition {
  const faults = sameIdInOneLayer(candidates)
  for (;;) {
    const standing = candidates.filter((candidate) => !faults.has(candidate))
    const chosen = highestOfEachId(standing)
    const { order, found } = judge([...chosen.values()], locked)
    if (found.size === 0) {
      const refused = [...faults].map(([candidate, error]) => ({ candidate, error }))
      return { offers: offersOf(chosen, standing), extensions: chosen, startOrder: order, refused }
    }
    for (const [candidate, error] of found) faults.set(candidate, error)
  }
}

function sameIdInOneLayer(candidates: readonly Candidate[]): Map<Candidate, BulkheadError> {
  const groups = Map.groupBy(candidates, ({ descriptor }) => `${descriptor.layer}/${descriptor.id}`)
  const rivals = [...groups.values()].filter((group) => group.length > 1).flat()
  return new Map(rivals.map((candidate) => {
    const { id, layer } = candidate.descriptor
    return [candidate, fault('RegistrationConflict', '/id', `The id "${id}" is claimed more than once in the ${layer} layer.`)]
  }))
}

function highestOfEachId(candidates: readonly Candidate[]): Map<string, Candidate> {
  const highest = new Map<string, Candidate>()
  for (const candidate of candidates) {
    const other = highest.get(candidate.descriptor.id)
    if (!other || rank(candidate) > rank(other)) highest.set(candidate.descriptor.id, candidate)
  }
  return highest
}

function judge(chosen: readonly Candidate[], locked: ReadonlyMap<string, ToolManifest>) {
  const dependencies = orderDependencies(chosen.map(({ descriptor: { id, manifest: { dependsOn } } }) => ({ id, dependsOn })))
  const claims = claimsByLayer(chosen)
  const found = new Map<Candidate, BulkheadError>()
  for (const candidate of chosen) {
    const error = lockFault(candidate, locked) ?? claimFault(candidate, claims) ?? dependencyFault(candidate, dependencies)
    if (error) found.set(candidate, error)
  }
  return { order: dependencies.order, found }
}

/** Without the tool itself to compare with, nobody can prove to be equal to it. */
function lockFault({ descriptor, tools }: Candidate, locked: ReadonlyMap<string, ToolManifest>): BulkheadError | undefined {
  if (descriptor.layer === 'bundled') return undefined
  for (const [index, { name, definition }] of tools.entries()) {
    if (!isLockedTool(name)) continue
    const original = locked.get(name)
    const refuse = (why: string) =>
      fault('LockedIdRedefined', `/tools/${index}`, `The tool "${name}" of "${descriptor.id}" takes a locked name, and ${why}.`)
    if (!original) return refuse('the tool that name belongs to is not loaded here')
    const sameSchema = canonicalJson(definition.inputSchema) === canonicalJson(original.inputSchema)
    if (!sameSchema) return refuse('its input schema is another one')
    const more = beyond(declaredPower(definition.requires), declaredPower(original.requires))
    if (more.length > 0) return refuse(`it wants more than that tool has: ${more.map(({ kind, subject }) => `${kind}: ${subject}`).join('; ')}`)
  }
  return undefined
}

type Claims = ReadonlyMap<string, readonly Candidate[]>

const claim = (layer: Layer, tool: string): string => `${layer}/${tool}`

function claimsByLayer(chosen: readonly Candidate[]): Claims {
  const claims = chosen.flatMap((candidate) => candidate.tools.map(({ name }) => ({ candidate, name })))
  const groups = Map.groupBy(claims, ({ candidate, name }) => claim(candidate.descriptor.layer, name))
  return new Map([...groups].map(([key, group]) => [key, group.map(({ candidate }) => candidate)]))
}

function claimFault(candidate: Candidate, claims: Claims): BulkheadError | undefined {
  const { descriptor, tools } = candidate
  for (const [index, { name }] of tools.entries()) {
    const others = claims.get(claim(descriptor.layer, name))!
    if (others.length === 1) continue
    const who = [...new Set(others.map((other) => `"${other.descriptor.id}"`))].join(' and ')
    const message = `The name "${name}" is claimed more than once in the ${descriptor.layer} layer, by ${who}.`
    return fault('RegistrationConflict', `/tools/${index}/name`, message)
  }
  return undefined
}

function dependencyFault({ descriptor: { id } }: Candidate, { missing, circular }: DependencyOrder): BulkheadError | undefined {
  const gap = missing.get(id)
  if (gap !== undefined) {
    return fault('DependencyMissing', '/dependsOn', `The extension "${id}" depends on "${gap}", which is not loaded.`)
  }
  const circle = circular.get(id)
  if (circle) return fault('DependencyCycle', '/dependsOn', `The extension "${id}" waits in a circle: ${circle.join(' → ')}.`)
  return undefined
}

const fault = (code: ErrorCode, path: string, message: string) => new BulkheadError(code, message, { data: { path } })

function offersOf(chosen: ReadonlyMap<string, Candidate>, standing: readonly Candidate[]): ReadonlyMap<string, Offer> {
  const nearestFirst = standing.toSorted((a, b) => rank(b) - rank(a))
  const byName = Map.groupBy(
    nearestFirst.flatMap((candidate) => candidate.tools.map((tool) => ({ candidate, tool }))),
    ({ tool }) => tool.name,
  )
  return new Map([...byName].flatMap(([name, claimants]) => {
    // An extension that is replaced as a whole does not go on offering the tools its replacement dropped.
    const winner = claimants.find(({ candidate }) => chosen.get(candidate.descriptor.id) === candidate)
    if (!winner) return []
    const hides = claimants.filter(({ candidate }) => rank(candidate) < rank(winner.candidate)).map(({ tool }) => tool)
    return [[name, { tool: winner.tool, generation: winner.candidate.generation, hides }]]
  }))
}

const rank = ({ descriptor }: Candidate): number => layerRank(descriptor.layer)
