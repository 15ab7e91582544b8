import type { Fault } from '../model/result.ts'
import type { Registrant, RegistrationRule } from './rule.ts'

/** Every dependency is there: in the same layer, or admitted below it. A layer cannot lean on one above. `why` says why one is not. */
export const missingDependencies = (
  below: ReadonlyMap<string, Registrant>, why: (id: string) => string,
): RegistrationRule => (registrants) => {
  const dependents = registrants.filter(({ outline }) => outline.dependsOn.length > 0)
  if (dependents.length === 0) return new Map()
  const ids = new Set([...below.keys(), ...registrants.map(({ outline }) => outline.id)])
  return new Map(dependents.flatMap((registrant) => {
    const { id, dependsOn } = registrant.outline
    const index = dependsOn.findIndex((onto) => !ids.has(onto))
    if (index < 0) return []
    const missing = dependsOn[index]!
    const message = `The extension "${id}" depends on "${missing}", which ${why(missing)}.`
    return [[registrant, fault('DependencyMissing', index, message)] as const]
  }))
}

/**
 * Nobody waits for itself. What is below has no circle of its own, so each has a member in this layer: those are
 * refused, and what they had hidden below serves again. One circle at a time, since breaking it may break others.
 */
export const circularDependencies = (below: ReadonlyMap<string, Registrant>): RegistrationRule => (registrants) => {
  if (registrants.every(({ outline }) => outline.dependsOn.length === 0)) return new Map()
  const view = new Map([...below, ...registrants.map((registrant) => [registrant.outline.id, registrant] as const)])
  const circle = findCircle(view)
  const names = [...circle, ...circle.slice(0, 1)].map(({ outline }) => outline.id).join(' → ')
  return new Map(circle.filter((member) => registrants.includes(member)).map((member) => {
    const following = circle[(circle.indexOf(member) + 1) % circle.length]!
    const index = member.outline.dependsOn.indexOf(following.outline.id)
    return [member, fault('DependencyCycle', index, `Extensions depend on each other in a circle: ${names}.`)]
  }))
}

/** Who is left when all that wait for nothing are taken away, again and again, waits in a circle or for one. */
function findCircle(view: ReadonlyMap<string, Registrant>): readonly Registrant[] {
  const waiting = takeAwayReady(view)
  const path = new Set<Registrant>()
  let current = waiting.values().next().value
  while (current !== undefined && !path.has(current)) {
    path.add(current)
    current = waiting.get(current.outline.dependsOn.find((id) => waiting.has(id))!)
  }
  return current === undefined ? [] : [...path].slice([...path].indexOf(current))
}

function takeAwayReady(view: ReadonlyMap<string, Registrant>): ReadonlyMap<string, Registrant> {
  const waiting = new Map(view)
  const edges = [...view.values()].flatMap(({ outline: { id, dependsOn } }) => [...new Set(dependsOn)].map((onto) => ({ id, onto })))
  const dependents = Map.groupBy(edges, ({ onto }) => onto)
  const open = new Map([...Map.groupBy(edges, ({ id }) => id)].map(([id, own]) => [id, own.length]))
  const ready = [...view.keys()].filter((id) => !open.has(id))
  for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
    waiting.delete(id)
    for (const dependent of dependents.get(id) ?? []) {
      const left = open.get(dependent.id)! - 1
      open.set(dependent.id, left)
      if (left === 0) ready.push(dependent.id)
    }
  }
  return waiting
}

const fault = (code: 'DependencyMissing' | 'DependencyCycle', index: number, message: string): Fault =>
  ({ stage: 'register', code, path: `/dependsOn/${index}`, message })
