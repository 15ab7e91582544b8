import { LAYERS, layerRank, type ExtensionDescriptor, type ToolManifest } from '@bulkhead/contract'
import { byteOrder } from '../byte-order.ts'
import type { Fault } from '../result.ts'
import { sameId, sameToolName } from './conflicts.ts'
import { circularDependencies, missingDependencies } from './dependencies.ts'
import { lockedTools } from './locked-tools.ts'
import { lockedLookAlikes, lookAlikes } from './look-alikes.ts'
import type { RegistrationRule } from './rule.ts'

export interface Registration {
  /** By layer, then by id. */
  readonly admitted: readonly ExtensionDescriptor[]
  readonly refused: ReadonlyMap<ExtensionDescriptor, Fault>
}

/**
 * Looks at proven extensions beside each other, layer by layer from the bottom: whatever a layer brings, it takes
 * nothing away from those below. `bundled` are the tools that ship with the host, also where they are switched off;
 * `absent` says why an extension that was found is not among the proven.
 */
export function register(
  proven: readonly ExtensionDescriptor[], bundled: ReadonlyMap<string, ToolManifest>, absent: ReadonlyMap<string, string> = new Map(),
): Registration {
  const admitted: ExtensionDescriptor[] = []
  const refused = new Map<ExtensionDescriptor, Fault>()
  for (const layer of LAYERS) {
    const below = new Map(admitted.map((extension) => [extension.id, extension]))
    const why = (id: string): string => {
      const above = proven.find((extension) => extension.id === id && layerRank(extension.layer) > layerRank(layer))
      if (above !== undefined) return `is only in the ${above.layer} layer, and the ${layer} layer cannot lean on that`
      const fault = [...refused].find(([extension]) => extension.id === id)?.[1]
      return fault === undefined ? absent.get(id) ?? 'is not there' : `was refused itself (${fault.code})`
    }
    const rules = [
      sameId, sameToolName, lockedLookAlikes, lockedTools(bundled), lookAlikes(admitted), missingDependencies(below, why),
      circularDependencies(below),
    ]
    const candidates = proven.filter((extension) => extension.layer === layer)
    admitted.push(...admit(candidates, rules, refused).toSorted((left, right) => byteOrder(left.id, right.id)))
  }
  return { admitted, refused }
}

/** Applies the rules until none objects: a refusal can leave somebody else without a dependency. */
function admit(
  candidates: readonly ExtensionDescriptor[], rules: readonly RegistrationRule[], refused: Map<ExtensionDescriptor, Fault>,
): readonly ExtensionDescriptor[] {
  let remaining = candidates
  for (;;) {
    const objections = rules.values().map((rule) => rule(remaining)).find(({ size }) => size > 0)
    if (objections === undefined) return remaining
    for (const [extension, fault] of objections) refused.set(extension, fault)
    remaining = remaining.filter((extension) => !objections.has(extension))
  }
}
