import {
  dependencyCycleFault, findIdConflicts, findLockedToolFault, findToolNameConflicts, isLockedTool, LAYERS, layerRank,
  missingDependencyFault, orderDependencies, type ExtensionDescriptor, type Registrant, type RegistrationFault, type ToolManifest,
} from '@bulkhead/contract'
import type { Outline } from '../describe/extension.ts'
import { byteOrder } from '../model/digest.ts'
import type { Fault } from '../model/result.ts'
import { lockedLookAlikes, lookAlikes } from './look-alikes.ts'

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

/** Which registrants of a layer cannot stand beside the others, and why. A rule has no effects and may run again. */
type RegistrationRule<One> = (registrants: readonly Entry<One>[]) => ReadonlyMap<Registrant, RegistrationFault>
type Entry<One> = Registrant & { readonly extension: One }

/**
 * Compares proven extensions with each other, layer by layer from the bottom, so that a layer takes nothing from those below it.
 * `bundled` are the bundled tools, including disabled ones; `absent` gives the reason why an extension that was found is not proven.
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
      findIdConflicts, findToolNameConflicts, lockedLookAlikes, lockedTools(bundled), (some) => lookAlikes(admitted, some),
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

const lockedTools = <One extends ProvenExtension>(bundled: ReadonlyMap<string, ToolManifest>): RegistrationRule<One> => (registrants) =>
  new Map(registrants.filter(({ layer, toolNames }) => layer !== 'bundled' && toolNames.some(isLockedTool))
    .flatMap((registrant) => {
      const [first] = registrant.extension.descriptor.manifest.tools
        .flatMap((tool, index) => findLockedToolFault(tool, index, bundled.get(tool.name)) ?? [])
      return first === undefined ? [] : [[registrant, first] as const]
    }))

/** A dependency must be in the same layer, or admitted below it. */
const missingDependencies = <One>(below: ReadonlyMap<string, Registrant>, reasonFor: (id: string) => string): RegistrationRule<One> =>
  (registrants) => {
    const ids = new Set([...below.keys(), ...registrants.map(({ id }) => id)])
    return new Map(registrants.flatMap((registrant) => {
      const index = registrant.dependsOn.findIndex((id) => !ids.has(id))
      return index < 0 ? [] : [[registrant, missingDependencyFault(registrant, index, reasonFor(registrant.dependsOn[index]!))] as const]
    }))
  }

/**
 * The layers below have no cycle of their own, so each cycle has a member in this layer. Those are refused, and what they
 * shadow below is used again. One cycle at a time, because breaking it may break others.
 */
const dependencyCycles = <One>(below: ReadonlyMap<string, Registrant>): RegistrationRule<One> => (registrants) => {
  if (registrants.every(({ dependsOn }) => dependsOn.length === 0)) return new Map()
  const view = new Map<string, Registrant>([...below, ...registrants.map((registrant) => [registrant.id, registrant] as const)])
  const [cycle = []] = orderDependencies(view.values()).circular.values()
  return new Map(registrants.filter(({ id }) => cycle.includes(id)).map((member) => [member, dependencyCycleFault(member, cycle)]))
}
