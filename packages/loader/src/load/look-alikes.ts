import { LOCKED_TOOLS, type Registrant, type RegistrationFault } from '@bulkhead/contract'

/**
 * Two names that share a key are hard to tell apart: by case and dashes, or by characters that look alike. Names consist of Latin
 * letters, digits, dash and underscore, so this list is complete.
 */
export function lookAlikeKeys(name: string): readonly string[] {
  const byCase = name.toLowerCase().replaceAll('-', '_')
  const byLook = name.replaceAll(/[I1]/g, 'l').replaceAll('0', 'o').replaceAll('rn', 'm').replaceAll('vv', 'w')
    .replaceAll('-', '_').toLowerCase()
  return byCase === byLook ? [byCase] : [byCase, byLook]
}

/**
 * Equal for names that share a key, and for some others. Computed over all names as one string, which is fast: it nearly always
 * shows that no two names need to be compared.
 */
const roughKeys = (names: readonly string[]): readonly string[] => names.join('\n').toLowerCase()
  .replaceAll('-', '_').replaceAll('i', 'l').replaceAll('1', 'l').replaceAll('0', 'o').replaceAll('m', 'rn').replaceAll('w', 'vv')
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

const LOCKED: ReadonlyMap<string, string> = new Map(LOCKED_TOOLS.flatMap((name) => lookAlikeKeys(name).map((key) => [key, name] as const)))
const ROUGHLY_LOCKED: ReadonlySet<string> = new Set(roughKeys(LOCKED_TOOLS))

/** Tools that a model or a person could mistake for a bundled tool with a locked name. */
export function lockedLookAlikes(registrants: readonly Registrant[]): ReadonlyMap<Registrant, LookAlikeFault> {
  if (!roughKeys(registrants.flatMap(TOOLS.namesOf)).some((key) => ROUGHLY_LOCKED.has(key))) return new Map()
  return firstFaults(registrants.filter(({ layer }) => layer !== 'bundled'), TOOLS, (name) => {
    const twin = lookAlikeKeys(name).map((key) => LOCKED.get(key)).find((other) => other !== undefined)
    if (twin === undefined || twin === name) return undefined
    return { code: 'LockedIdRedefined', message: `The tool name "${name}" looks like "${twin}", which is reserved for a bundled tool.` }
  })
}

/** Ids and tool names that look like others. In one layer neither is used; across layers the higher one is not. */
export function lookAlikes(below: readonly Registrant[], registrants: readonly Registrant[]): ReadonlyMap<Registrant, LookAlikeFault> {
  const all = [...below, ...registrants]
  return new Map([...lookAlikesAmong(all, TOOLS, registrants), ...lookAlikesAmong(all, IDS, registrants)])
}

function lookAlikesAmong(all: readonly Registrant[], naming: Naming, registrants: readonly Registrant[]): ReadonlyMap<Registrant, LookAlikeFault> {
  const distinct = new Set(all.flatMap(naming.namesOf))
  if (new Set(roughKeys([...distinct])).size === distinct.size) return new Map()
  const claims = all.flatMap((owner) => naming.namesOf(owner).map((name) => ({ owner, name })))
  const byKey = Map.groupBy(claims.flatMap((claim) => lookAlikeKeys(claim.name).map((key) => ({ key, ...claim }))), ({ key }) => key)
  return firstFaults(registrants, naming, (name, registrant) => {
    const twin = lookAlikeKeys(name).flatMap((key) => byKey.get(key) ?? []).find((claim) => claim.name !== name)
    if (twin === undefined) return undefined
    const owner = twin.owner === registrant ? 'the same extension' : `"${twin.owner.id}" in the ${twin.owner.layer} layer`
    return { code: 'RegistrationConflict', message: `The name "${name}" is hard to tell apart from "${twin.name}" of ${owner}.` }
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
      faults.set(registrant, { path: pathOf(index), ...found, cure: 'Choose a name that cannot be mistaken for another.' })
      break
    }
  }
  return faults
}
