import {
  dependencyCycleFault, findIdConflicts, findLockedToolFault, findToolNameConflicts, isLockedTool, layerRank, LAYERS,
  LOCKED_TOOLS, missingDependencyFault, orderDependencies, type ExtensionDescriptor, type Registrant,
  type RegistrationFault, type ToolManifest,
} from '@bulkhead/contract'
import type { Outline } from '../describe/extension.ts'
import { byteOrder } from '../model/digest.ts'
import type { Fault } from '../model/result.ts'

/** A proven extension. The outline is at hand where the manifest is not parsed yet. */
export interface ProvenExtension {
  readonly descriptor: ExtensionDescriptor
  readonly outline: Outline
}

export interface Registration<One extends ProvenExtension> {
  /** By layer, then by id. */
  readonly admitted: readonly One[]
  readonly refused: ReadonlyMap<One, Fault>
}

/** The registrants of a layer that conflict with others, with the reason. A rule has no effects and may run again. */
type RegistrationRule<One> = (registrants: readonly Entry<One>[]) => ReadonlyMap<Registrant, RegistrationFault>
type Entry<One> = Registrant & { readonly extension: One }

/**
 * Compares proven extensions with each other, layer by layer from the bottom, so that a layer takes nothing from those
 * below it. `bundled` are the bundled tools, including disabled ones; `absent` gives the reason why an extension that
 * was found is not proven.
 */
export function register<One extends ProvenExtension>(
  proven: readonly One[], bundled: ReadonlyMap<string, ToolManifest>, absent: ReadonlyMap<string, string> = new Map(),
): Registration<One> {
  const entries = proven.map(entryOf)
  const admitted: Entry<One>[] = []
  const refused = new Map<One, Fault>()
  for (const layer of LAYERS) {
    const registrants = entries.filter((entry) => entry.layer === layer)
    if (registrants.length === 0) continue
    const below = new Map(admitted.map((entry) => [entry.id, entry]))
    const reasonFor = (id: string): string => {
      const above = entries.find((entry) => entry.id === id && layerRank(entry.layer) > layerRank(layer))
      if (above !== undefined) return `is only in the ${above.layer} layer, which is above the ${layer} layer`
      const fault = [...refused].find(([{ outline }]) => outline.id === id)?.[1]
      return fault === undefined ? absent.get(id) ?? 'is not installed' : `was refused (${fault.code})`
    }
    const rules: readonly RegistrationRule<One>[] = [
      findIdConflicts, findToolNameConflicts, lockedLookAlikes, lockedTools(bundled),
      (some) => lookAlikes(admitted, some),
      missingDependencies(below, reasonFor), dependencyCycles(below),
    ]
    admitted.push(...admit(registrants, rules, refused).toSorted((left, right) => byteOrder(left.id, right.id)))
  }
  return { admitted: admitted.map(({ extension }) => extension), refused }
}

function entryOf<One extends ProvenExtension>(extension: One): Entry<One> {
  const { descriptor: { layer, location }, outline: { id, tools, dependsOn } } = extension
  return { extension, id, layer, location, toolNames: tools, dependsOn }
}

/** Applies the rules until none objects: a refusal can leave another extension without a dependency. */
function admit<One>(
  registrants: readonly Entry<One>[], rules: readonly RegistrationRule<One>[], refused: Map<One, Fault>,
): readonly Entry<One>[] {
  let remaining = registrants
  for (;;) {
    const faults = rules.values().map((rule) => rule(remaining)).find(({ size }) => size > 0)
    if (faults === undefined) return remaining
    for (const entry of remaining) {
      const fault = faults.get(entry)
      if (fault !== undefined) refused.set(entry.extension, { stage: 'register', ...fault })
    }
    remaining = remaining.filter((entry) => !faults.has(entry))
  }
}

const lockedTools = <One extends ProvenExtension>(bundled: ReadonlyMap<string, ToolManifest>): RegistrationRule<One> =>
  (registrants) =>
  new Map(registrants.filter(({ layer, toolNames }) => layer !== 'bundled' && toolNames.some(isLockedTool))
    .flatMap((registrant) => {
      const [first] = registrant.extension.descriptor.manifest.tools
        .flatMap((tool, index) => findLockedToolFault(tool, index, bundled.get(tool.name)) ?? [])
      return first === undefined ? [] : [[registrant, first] as const]
    }))

/** A dependency must be in the same layer, or admitted below it. */
const missingDependencies = <One>(
  below: ReadonlyMap<string, Registrant>, reasonFor: (id: string) => string,
): RegistrationRule<One> =>
  (registrants) => {
    const ids = new Set([...below.keys(), ...registrants.map(({ id }) => id)])
    return new Map(registrants.flatMap((registrant) => {
      const index = registrant.dependsOn.findIndex((id) => !ids.has(id))
      if (index < 0) return []
      const reason = reasonFor(registrant.dependsOn[index]!)
      return [[registrant, missingDependencyFault(registrant, index, reason)] as const]
    }))
  }

/**
 * The layers below have no cycle of their own, so each cycle has a member in this layer. Those are refused, and what
 * they shadow below is used again. One cycle at a time, because breaking it may break others.
 */
const dependencyCycles = <One>(below: ReadonlyMap<string, Registrant>): RegistrationRule<One> => (registrants) => {
  if (registrants.every(({ dependsOn }) => dependsOn.length === 0)) return new Map()
  const view = new Map<string, Registrant>([
    ...below, ...registrants.map((registrant) => [registrant.id, registrant] as const),
  ])
  const [cycle = []] = orderDependencies(view.values()).circular.values()
  return new Map(registrants.filter(({ id }) => cycle.includes(id)).map((member) => [
    member, dependencyCycleFault(member, cycle),
  ]))
}

/**
 * Two names that share a key are hard to tell apart: by case and dashes, or by characters that look alike. Names
 * consist of Latin letters, digits, dash and underscore, so this list is complete.
 */
export function lookAlikeKeys(name: string): readonly string[] {
  const byCase = name.toLowerCase().replaceAll('-', '_')
  const byLook = name.replaceAll(/[I1]/g, 'l').replaceAll('0', 'o').replaceAll('rn', 'm').replaceAll('vv', 'w')
    .replaceAll('-', '_').toLowerCase()
  return byCase === byLook ? [byCase] : [byCase, byLook]
}

/**
 * Equal for names that share a key, and for some others. Computed over all names as one string, which is fast: it
 * nearly always shows that no two names need to be compared.
 */
const roughKeys = (names: readonly string[]): readonly string[] => names.join('\n').toLowerCase()
  .replaceAll('-', '_').replaceAll('i', 'l').replaceAll('1', 'l').replaceAll('0', 'o')
  .replaceAll('m', 'rn').replaceAll('w', 'vv')
  .split('\n')

interface LookAlikeFault extends RegistrationFault {
  readonly cure: string
}

/** One kind of name, and its place in a manifest. */
interface Naming {
  readonly namesOf: (registrant: Registrant) => readonly string[]
  readonly pathOf: (index: number) => string
}

const TOOLS: Naming = { namesOf: ({ toolNames }) => toolNames, pathOf: (index) => `/tools/${index}/name` }
const IDS: Naming = { namesOf: ({ id }) => [id], pathOf: () => '/id' }

const LOCKED: ReadonlyMap<string, string> = new Map(
  LOCKED_TOOLS.flatMap((name) => lookAlikeKeys(name).map((key) => [key, name] as const)))
const ROUGHLY_LOCKED: ReadonlySet<string> = new Set(roughKeys(LOCKED_TOOLS))

/** Tools that a model or a person could mistake for a bundled tool with a locked name. */
function lockedLookAlikes(registrants: readonly Registrant[]): ReadonlyMap<Registrant, LookAlikeFault> {
  if (!roughKeys(registrants.flatMap(TOOLS.namesOf)).some((key) => ROUGHLY_LOCKED.has(key))) return new Map()
  return firstFaults(registrants.filter(({ layer }) => layer !== 'bundled'), TOOLS, (name) => {
    const twin = lookAlikeKeys(name).map((key) => LOCKED.get(key)).find((other) => other !== undefined)
    if (twin === undefined || twin === name) return undefined
    return {
      code: 'LockedIdRedefined',
      message: `The tool name "${name}" looks like "${twin}", which is reserved for a bundled tool.`,
    }
  })
}

/** Ids and tool names that look like others. In one layer neither is used; across layers the higher one is not. */
function lookAlikes(
  below: readonly Registrant[], registrants: readonly Registrant[],
): ReadonlyMap<Registrant, LookAlikeFault> {
  const all = [...below, ...registrants]
  return new Map([...lookAlikesAmong(all, TOOLS, registrants), ...lookAlikesAmong(all, IDS, registrants)])
}

function lookAlikesAmong(
  all: readonly Registrant[], naming: Naming, registrants: readonly Registrant[],
): ReadonlyMap<Registrant, LookAlikeFault> {
  const distinct = new Set(all.flatMap(naming.namesOf))
  if (new Set(roughKeys([...distinct])).size === distinct.size) return new Map()
  const claims = all.flatMap((owner) => naming.namesOf(owner).map((name) => ({ owner, name })))
  const byKey = Map.groupBy(
    claims.flatMap((claim) => lookAlikeKeys(claim.name).map((key) => ({ key, ...claim }))), ({ key }) => key,
  )
  return firstFaults(registrants, naming, (name, registrant) => {
    const twin = lookAlikeKeys(name).flatMap((key) => byKey.get(key) ?? []).find((claim) => claim.name !== name)
    if (twin === undefined) return undefined
    const owner = twin.owner === registrant
      ? 'the same extension' : `"${twin.owner.id}" in the ${twin.owner.layer} layer`
    return {
      code: 'RegistrationConflict',
      message: `The name "${name}" is hard to tell apart from "${twin.name}" of ${owner}.`,
    }
  })
}

/** The first fault of each registrant is reason enough. */
function firstFaults(
  registrants: readonly Registrant[], { namesOf, pathOf }: Naming,
  findFault: (name: string, registrant: Registrant) => Pick<RegistrationFault, 'code' | 'message'> | undefined,
): ReadonlyMap<Registrant, LookAlikeFault> {
  const faults = new Map<Registrant, LookAlikeFault>()
  for (const registrant of registrants) {
    for (const [index, name] of namesOf(registrant).entries()) {
      const found = findFault(name, registrant)
      if (found === undefined) continue
      faults.set(registrant, {
        path: pathOf(index), ...found, cure: 'Choose a name that cannot be mistaken for another.',
      })
      break
    }
  }
  return faults
}
