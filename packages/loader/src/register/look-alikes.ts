import { LOCKED_TOOLS, type ExtensionDescriptor } from '@bulkhead/contract'
import type { Fault } from '../result.ts'
import type { RegistrationRule } from './rule.ts'

/**
 * Two names with a key in common are hard to tell apart: by case and dashes, or by characters that look alike. Names have no
 * others than Latin letters, digits, dash and underscore, so these few are all.
 */
function lookAlikeKeys(name: string): readonly string[] {
  if (!AMBIGUOUS.test(name)) return [name]
  const byCase = name.toLowerCase().replaceAll('-', '_')
  const byLook = name.replaceAll(/[I1]/g, 'l').replaceAll('0', 'o').replaceAll('rn', 'm').replaceAll('vv', 'w')
    .replaceAll('-', '_').toLowerCase()
  return byCase === byLook ? [byCase] : [byCase, byLook]
}

/** What a name must have to be another under a key. */
const AMBIGUOUS = /[A-Z01-]|rn|vv/

interface Claim {
  readonly claimant: ExtensionDescriptor
  readonly name: string
  readonly path: string
}

/** A tool that a model or a person could take for one of those that ship with the host. */
export const lockedLookAlikes: RegistrationRule = (candidates) => {
  const locked = new Map(LOCKED_TOOLS.flatMap((name) => lookAlikeKeys(name).map((key) => [key, name] as const)))
  return firstOf(candidates.filter(({ layer }) => layer !== 'bundled').flatMap(toolClaims), ({ name }) => {
    const twin = lookAlikeKeys(name).map((key) => locked.get(key)).find((other) => other !== undefined)
    if (twin === undefined || twin === name) return undefined
    return { code: 'LockedIdRedefined', message: `The name "${name}" looks like "${twin}", which is kept for a tool that ships with Bulkhead.` }
  })
}

/** Ids and tool names that look like others: of the same layer neither is used, of one below it the later is not. */
export const lookAlikes = (below: readonly ExtensionDescriptor[]): RegistrationRule => (candidates) => {
  const everyone = [...below, ...candidates]
  return new Map([...lookAlikesAmong(everyone, toolClaims, candidates), ...lookAlikesAmong(everyone, idClaims, candidates)])
}

const toolClaims = (claimant: ExtensionDescriptor): readonly Claim[] =>
  claimant.manifest.tools.map(({ name }, index) => ({ claimant, name, path: `/tools/${index}/name` }))
const idClaims = (claimant: ExtensionDescriptor): readonly Claim[] => [{ claimant, name: claimant.id, path: '/id' }]

function lookAlikesAmong(
  everyone: readonly ExtensionDescriptor[], claimsOf: typeof toolClaims, candidates: readonly ExtensionDescriptor[],
): ReadonlyMap<ExtensionDescriptor, Fault> {
  const byKey = new Map<string, Claim[]>()
  let anyTwins = false
  for (const claim of everyone.flatMap(claimsOf)) {
    for (const key of lookAlikeKeys(claim.name)) {
      const others = byKey.get(key)
      if (others === undefined) byKey.set(key, [claim])
      else if (others.every(({ name }) => name !== claim.name)) anyTwins = others.push(claim) > 1
    }
  }
  if (!anyTwins) return new Map()
  return firstOf(candidates.flatMap(claimsOf), ({ name, claimant }) => {
    const twin = lookAlikeKeys(name).flatMap((key) => byKey.get(key) ?? []).find((claim) => claim.name !== name)
    if (twin === undefined) return undefined
    const place = twin.claimant === claimant ? 'the same extension' : `"${twin.claimant.id}" of the ${twin.claimant.layer} layer`
    return { code: 'RegistrationConflict', message: `The name "${name}" can hardly be told from "${twin.name}" of ${place}.` }
  })
}

type Objection = Pick<Fault, 'code' | 'message'>

/** The first objection to each is reason enough. */
function firstOf(claims: readonly Claim[], object: (claim: Claim) => Objection | undefined): ReadonlyMap<ExtensionDescriptor, Fault> {
  const faults = new Map<ExtensionDescriptor, Fault>()
  for (const claim of claims) {
    const objection = faults.has(claim.claimant) ? undefined : object(claim)
    if (objection === undefined) continue
    faults.set(claim.claimant, { stage: 'register', path: claim.path, ...objection, cure: 'Give it a name that nobody mistakes for another.' })
  }
  return faults
}
