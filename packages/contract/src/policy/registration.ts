import { canonicalJson } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { isLockedTool, type Layer } from '../model/names.ts'
import type { ToolManifest } from '../validation/manifest.ts'
import { declaredPower } from './power.ts'
import { beyond } from './power-order.ts'

/** What registration compares: one extension, its layer and the names it claims. */
export interface Registrant {
  readonly id: string
  readonly layer: Layer
  readonly location: string
  readonly toolNames: readonly string[]
  readonly dependsOn: readonly string[]
}

export interface RegistrationFault {
  readonly code: 'RegistrationConflict' | 'LockedIdRedefined' | 'DependencyMissing' | 'DependencyCycle'
  /** JSON Pointer in the manifest. */
  readonly path: string
  readonly message: string
}

/**
 * Extensions of one layer that claim the same id. None of them is used. Across layers the higher one shadows the lower
 * one.
 */
export const findIdConflicts = <R extends Registrant>(registrants: readonly R[]): Map<R, RegistrationFault> =>
  findConflicts(registrants, ({ id }) => [id], 'id', () => '/id')

/** The same for the names of tools. */
export const findToolNameConflicts = <R extends Registrant>(registrants: readonly R[]): Map<R, RegistrationFault> =>
  findConflicts(registrants, ({ toolNames }) => toolNames, 'tool name', (index) => `/tools/${index}/name`)

function findConflicts<R extends Registrant>(
  registrants: readonly R[], namesOf: (registrant: R) => readonly string[],
  what: string, pathOf: (index: number) => string,
): Map<R, RegistrationFault> {
  const claims = registrants.flatMap((registrant) => namesOf(registrant).map((name, index) =>
    ({ registrant, name, index, key: `${registrant.layer}/${name}` })))
  if (new Set(claims.map(({ key }) => key)).size === claims.length) return new Map()
  const byKey = Map.groupBy(claims, ({ key }) => key)
  const faults = new Map<R, RegistrationFault>()
  for (const { registrant, name, index, key } of claims) {
    const same = byKey.get(key)!
    // The first contested name of an extension is reason enough.
    if (same.length === 1 || faults.has(registrant)) continue
    const others = same.filter((claim) => claim.registrant !== registrant)
      .map((claim) => visibleText(claim.registrant.location))
    const shown = others.length > 3 ? [...others.slice(0, 3), `${others.length - 3} more places`] : others
    const also = shown.length === 0 ? '' : ` It is also in ${shown.join(', ')}.`
    const message =
      `The ${registrant.layer} layer has the ${what} "${name}" more than once, so none of them is used.${also}`
    faults.set(registrant, { code: 'RegistrationConflict', path: pathOf(index), message })
  }
  return faults
}

type ComparedTool = Pick<ToolManifest, 'name' | 'inputSchema' | 'requires'>

/**
 * Why a tool outside the bundled layer may not take a locked name. It needs the input schema of the bundled tool and no
 * power beyond it. Without the bundled tool there is nothing to compare with, so the name stays unused.
 */
export function findLockedToolFault(
  tool: ComparedTool, index: number, original: ComparedTool | undefined,
): RegistrationFault | undefined {
  const { name } = tool
  if (!isLockedTool(name)) return undefined
  const redefined = (field: string, message: string): RegistrationFault =>
    ({ code: 'LockedIdRedefined', path: `/tools/${index}/${field}`, message })
  if (original === undefined) {
    return redefined('name', `The tool name "${name}" is reserved for a bundled tool, which is not loaded.`)
  }
  if (canonicalJson(tool.inputSchema) !== canonicalJson(original.inputSchema)) {
    return redefined('inputSchema', `The tool "${name}" replaces a bundled tool and must have the same input schema.`)
  }
  const excess = beyond(declaredPower(tool.requires), declaredPower(original.requires))
  if (excess.length === 0) return undefined
  const list = excess.map(({ kind, subject }) => `${kind}: ${subject}`).join(', ')
  return redefined('requires', `The tool "${name}" requires more than the bundled tool it replaces: ${list}.`)
}

export interface DependencyOrder {
  /** Each id after all it depends on; ties by name. */
  readonly order: readonly string[]
  /** Ids with a dependency that does not exist, and the index of the first one in `dependsOn`. */
  readonly missing: ReadonlyMap<string, number>
  /** Ids in a cycle, or waiting for one, and the cycle. */
  readonly circular: ReadonlyMap<string, readonly string[]>
}

type Dependent = Pick<Registrant, 'id' | 'dependsOn'>

/** Orders extensions with distinct ids by their dependencies, level by level. */
export function orderDependencies(extensions: Iterable<Dependent>): DependencyOrder {
  const byId = new Map([...extensions].map((extension) => [extension.id, extension]))
  const missing = new Map([...byId.values()].flatMap(({ id, dependsOn }) => {
    const index = dependsOn.findIndex((other) => !byId.has(other))
    return index < 0 ? [] : [[id, index] as const]
  }))
  const waiting = new Map([...byId].filter(([id]) => !missing.has(id)))
  const edges = [...waiting.values()].flatMap(({ id, dependsOn }) =>
    [...new Set(dependsOn)].filter((onto) => waiting.has(onto)).map((onto) => ({ id, onto })))
  const dependents = Map.groupBy(edges, ({ onto }) => onto)
  const open = new Map([...Map.groupBy(edges, ({ id }) => id)].map(([id, own]) => [id, own.length]))
  const order: string[] = []
  let level = [...waiting.keys()].filter((id) => !open.has(id))
  while (level.length > 0) {
    const next: string[] = []
    for (const id of level.toSorted()) {
      order.push(id)
      waiting.delete(id)
      for (const dependent of dependents.get(id) ?? []) {
        const left = open.get(dependent.id)! - 1
        open.set(dependent.id, left)
        if (left === 0) next.push(dependent.id)
      }
    }
    level = next
  }
  return { order, missing, circular: new Map([...waiting.keys()].toSorted().map((id) => [id, cycleFrom(id, waiting)])) }
}

/** Every waiting extension has a waiting dependency, so following them returns to one that was seen. */
function cycleFrom(start: string, waiting: ReadonlyMap<string, Dependent>): readonly string[] {
  const path = new Set<string>()
  let id = start
  while (!path.has(id)) {
    path.add(id)
    id = waiting.get(id)!.dependsOn.find((other) => waiting.has(other))!
  }
  return [...path].slice([...path].indexOf(id))
}

/** `reason` continues the sentence: "is not loaded". */
export const missingDependencyFault = (
  { id, dependsOn }: Dependent, index: number, reason: string,
): RegistrationFault => ({
  code: 'DependencyMissing', path: `/dependsOn/${index}`,
  message: `The extension "${id}" depends on "${dependsOn[index]}", which ${reason}.`,
})

/** `cycle` as `orderDependencies` returns it. */
export function dependencyCycleFault({ id, dependsOn }: Dependent, cycle: readonly string[]): RegistrationFault {
  const index = dependsOn.findIndex((other) => cycle.includes(other))
  const shown = [...cycle, ...cycle.slice(0, 1)].join(' → ')
  return {
    code: 'DependencyCycle', path: `/dependsOn/${Math.max(index, 0)}`,
    message: `The dependencies of "${id}" form a cycle: ${shown}.`,
  }
}
