import { LOCKED_TOOLS } from '@bulkhead/contract'
import type { Fault } from '../model/result.ts'
import type { Registrant, RegistrationRule } from '../register/rule.ts'

/**
 * Two names with a key in common are hard to tell apart: by case and dashes, or by characters that look alike. Names have no
 * others than Latin letters, digits, dash and underscore, so these few are all.
 */
export function lookAlikeKeys(name: string): readonly string[] {
  const byCase = name.toLowerCase().replaceAll('-', '_')
  const byLook = name.replaceAll(/[I1]/g, 'l').replaceAll('0', 'o').replaceAll('rn', 'm').replaceAll('vv', 'w')
    .replaceAll('-', '_').toLowerCase()
  return byCase === byLook ? [byCase] : [byCase, byLook]
}

/**
 * The same for names that have a key in common, and for some others. Made of all names as one text, which is quick: nearly
 * always it shows that no two need to be compared.
 */
const roughKeys = (names: readonly string[]): readonly string[] => names.join('\n').toLowerCase()
  .replaceAll('-', '_').replaceAll('i', 'l').replaceAll('1', 'l').replaceAll('0', 'o').replaceAll('m', 'rn').replaceAll('w', 'vv')
  .split('\n')

/** Where a registrant says a name. */
interface Claim {
  readonly claimant: Registrant
  readonly name: string
}

/** One kind of name, and where in a manifest it stands. */
interface Naming {
  readonly namesOf: (registrant: Registrant) => readonly string[]
  readonly pathOf: (index: number) => string
}

const TOOLS: Naming = { namesOf: ({ outline }) => outline.tools, pathOf: (index) => `/tools/${index}/name` }
const IDS: Naming = { namesOf: ({ outline }) => [outline.id], pathOf: () => '/id' }

const LOCKED: ReadonlyMap<string, string> = new Map(LOCKED_TOOLS.flatMap((name) => lookAlikeKeys(name).map((key) => [key, name] as const)))
const ROUGHLY_LOCKED: ReadonlySet<string> = new Set(roughKeys(LOCKED_TOOLS))

/** A tool that a model or a person could take for one of those that ship with the host. */
export const lockedLookAlikes: RegistrationRule = (registrants) => {
  if (!roughKeys(registrants.flatMap(TOOLS.namesOf)).some((key) => ROUGHLY_LOCKED.has(key))) return new Map()
  return firstOf(registrants.filter(({ descriptor }) => descriptor.layer !== 'bundled'), TOOLS, ({ name }) => {
    const twin = lookAlikeKeys(name).map((key) => LOCKED.get(key)).find((other) => other !== undefined)
    if (twin === undefined || twin === name) return undefined
    return { code: 'LockedIdRedefined', message: `The name "${name}" looks like "${twin}", which is kept for a tool that ships with Bulkhead.` }
  })
}

/** Ids and tool names that look like others: of the same layer neither is used, of one below it the later is not. */
export const lookAlikes = (below: readonly Registrant[]): RegistrationRule => (registrants) => {
  const everyone = [...below, ...registrants]
  return new Map([...lookAlikesAmong(everyone, TOOLS, registrants), ...lookAlikesAmong(everyone, IDS, registrants)])
}

function lookAlikesAmong(everyone: readonly Registrant[], naming: Naming, registrants: readonly Registrant[]): ReadonlyMap<Registrant, Fault> {
  if (!mayHaveTwins(everyone, naming)) return new Map()
  const claims = everyone.flatMap((claimant) => naming.namesOf(claimant).map((name): Claim => ({ claimant, name })))
  const byKey = Map.groupBy(claims.flatMap((claim) => lookAlikeKeys(claim.name).map((key) => ({ key, claim }))), ({ key }) => key)
  return firstOf(registrants, naming, ({ name, claimant }) => {
    const twin = lookAlikeKeys(name).flatMap((key) => byKey.get(key) ?? []).find(({ claim }) => claim.name !== name)?.claim
    if (twin === undefined) return undefined
    const { id, layer } = twin.claimant.descriptor
    const place = twin.claimant === claimant ? 'the same extension' : `"${id}" of the ${layer} layer`
    return { code: 'RegistrationConflict', message: `The name "${name}" can hardly be told from "${twin.name}" of ${place}.` }
  })
}

function mayHaveTwins(everyone: readonly Registrant[], { namesOf }: Naming): boolean {
  const names = new Set(everyone.flatMap(namesOf))
  return new Set(roughKeys([...names])).size < names.size
}

type Objection = Pick<Fault, 'code' | 'message'>

/** The first objection to each is reason enough. */
function firstOf(
  registrants: readonly Registrant[], { namesOf, pathOf }: Naming, object: (claim: Claim) => Objection | undefined,
): ReadonlyMap<Registrant, Fault> {
  const faults = new Map<Registrant, Fault>()
  for (const claimant of registrants) {
    for (const [index, name] of namesOf(claimant).entries()) {
      const objection = object({ claimant, name })
      if (objection === undefined) continue
      faults.set(claimant, { stage: 'register', path: pathOf(index), ...objection, cure: 'Give it a name that nobody mistakes for another.' })
      break
    }
  }
  return faults
}
