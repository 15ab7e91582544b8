import { LAYERS, layerRank, type ToolManifest } from '@bulkhead/contract'
import { byteOrder } from '../model/digest.ts'
import type { Fault } from '../model/result.ts'
import { sameId, sameToolName } from '../register/conflicts.ts'
import { circularDependencies, missingDependencies } from '../register/dependencies.ts'
import { lockedTools } from '../register/locked-tools.ts'
import { lockedLookAlikes, lookAlikes } from './look-alikes.ts'
import type { Registrant, RegistrationRule } from '../register/rule.ts'

export interface Registration<One extends Registrant> {
  /** By layer, then by id. */
  readonly admitted: readonly One[]
  readonly refused: ReadonlyMap<One, Fault>
}

/**
 * Looks at proven extensions beside each other, layer by layer from the bottom: whatever a layer brings, it takes
 * nothing away from those below. `bundled` are the tools that ship with the host, also where they are switched off;
 * `absent` says why an extension that was found is not among the proven.
 */
export function register<One extends Registrant>(
  proven: readonly One[], bundled: ReadonlyMap<string, ToolManifest>, absent: ReadonlyMap<string, string> = new Map(),
): Registration<One> {
  const admitted: One[] = []
  const refused = new Map<One, Fault>()
  for (const layer of LAYERS) {
    const registrants = proven.filter(({ descriptor }) => descriptor.layer === layer)
    if (registrants.length === 0) continue
    const below = new Map(admitted.map((registrant) => [registrant.outline.id, registrant]))
    const why = (id: string): string => {
      const above = proven.find(({ descriptor }) => descriptor.id === id && layerRank(descriptor.layer) > layerRank(layer))
      if (above !== undefined) return `is only in the ${above.descriptor.layer} layer, and the ${layer} layer cannot lean on that`
      const fault = [...refused].find(([{ outline }]) => outline.id === id)?.[1]
      return fault === undefined ? absent.get(id) ?? 'is not there' : `was refused itself (${fault.code})`
    }
    const rules = [
      sameId, sameToolName, lockedLookAlikes, lockedTools(bundled), lookAlikes(admitted), missingDependencies(below, why),
      circularDependencies(below),
    ]
    admitted.push(...admit(registrants, rules, refused).toSorted((left, right) => byteOrder(left.outline.id, right.outline.id)))
  }
  return { admitted, refused }
}

/** Applies the rules until none objects: a refusal can leave somebody else without a dependency. */
function admit<One extends Registrant>(
  registrants: readonly One[], rules: readonly RegistrationRule[], refused: Map<One, Fault>,
): readonly One[] {
  let remaining = registrants
  for (;;) {
    const objections = rules.values().map((rule) => rule(remaining)).find(({ size }) => size > 0)
    if (objections === undefined) return remaining
    remaining = remaining.filter((registrant) => {
      const fault = objections.get(registrant)
      if (fault !== undefined) refused.set(registrant, fault)
      return fault === undefined
    })
  }
}
