import { visibleText } from '@bulkhead/kit/text'
import type { Fault } from '../model/result.ts'
import type { Registrant, RegistrationRule } from './rule.ts'

/** Two of one layer with one id: nobody can say which is meant, so neither is. */
export const sameId: RegistrationRule = (registrants) => {
  if (new Set(registrants.map(({ outline }) => outline.id)).size === registrants.length) return new Map()
  return new Map([...Map.groupBy(registrants, ({ outline }) => outline.id)].filter(([, { length }]) => length > 1).flatMap(([id, claimants]) =>
    claimants.map((claimant) => [claimant, conflict('/id', `the id "${id}"`, claimant, claimants)] as const)))
}

/** Two extensions of one layer that offer a tool of one name. Across layers the later one shadows, which is no conflict. */
export const sameToolName: RegistrationRule = (registrants) => {
  const names = registrants.flatMap(({ outline }) => outline.tools)
  if (new Set(names).size === names.length) return new Map()
  const claims = registrants.flatMap((claimant) => claimant.outline.tools.map((name, index) => ({ claimant, name, index })))
  const claimsByName = Map.groupBy(claims, ({ name }) => name)
  const contested = claims.filter(({ name }) => claimsByName.get(name)!.length > 1)
  // Reversed, since the first contested name of an extension is reason enough and the last entry of a Map stays.
  return new Map(contested.toReversed().map(({ claimant, name, index }) => {
    const claimants = claimsByName.get(name)!.map((claim) => claim.claimant)
    return [claimant, conflict(`/tools/${index}/name`, `the tool name "${name}"`, claimant, claimants)]
  }))
}

function conflict(path: string, what: string, claimant: Registrant, claimants: readonly Registrant[]): Fault {
  const others = claimants.filter((other) => other !== claimant).map(({ descriptor }) => visibleText(descriptor.location))
  const shown = others.length > 3 ? [...others.slice(0, 3), `${others.length - 3} more places`] : others
  return {
    stage: 'register', code: 'RegistrationConflict', path,
    message: `The ${claimant.descriptor.layer} layer has ${what} more than once, also in ${shown.join(', ')}; none of them is used.`,
  }
}
