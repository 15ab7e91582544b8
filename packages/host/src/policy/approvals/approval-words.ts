import { visibleText } from '@bulkhead/kit/text'
import { sha256 } from '../../model/sha256.ts'
import type { Approval, Called } from './approval.ts'

const UNITS = [['day', 86_400_000], ['hour', 3_600_000], ['minute', 60_000]] as const

/** A span of time for people, by its largest unit. */
export function spanWords(ms: number): string {
  const [unit, size] = UNITS.find(([, length]) => ms >= length) ?? ['second', 1_000]
  return counted(Math.round(ms / size), unit)
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
const ago = (at: string, now: number): string => `${spanWords(Math.max(0, now - Date.parse(at)))} ago`

/** Why a call is allowed. */
export function standingWords({ id, scope, approvalKey, grantedAt, grantedBy, expiresAt, uses }: Approval, now: number): string {
  const ends = expiresAt === null ? 'ends with the session' : `expires in ${spanWords(Math.max(0, Date.parse(expiresAt) - now))}`
  return `${scope} approval ${id} of the key "${visibleText(approvalKey)}", given ${ago(grantedAt, now)} by ${visibleText(grantedBy)}, `
    + `${ends}, used ${counted(uses, 'time')}`
}

/** Why a call asks although its key was approved. */
export function endedWords({ id, scope, approvalKey, ended, uses }: Approval, now: number): string {
  const how = ended === null ? 'has ended' : `${ended.how === 'expired' ? 'expired' : 'was revoked'} ${ago(ended.at, now)}`
  const by = ended?.by === undefined ? '' : ` by ${visibleText(ended.by)}`
  return `the ${scope} approval ${id} of the key "${visibleText(approvalKey)}" ${how}${by}, after ${counted(uses, 'use')}`
}

/** Why an approval of the same name and key does not cover this call. */
export function changedWords({ id, scope, origin, digests, callers = [] }: Approval, { tool, callers: calling }: Called): string {
  const { origin: now, digests: present } = tool
  const names = (chain: readonly string[]): string => chain.length === 0 ? 'calls of the model' : `calls by ${chain.join(', then ')}`
  const [then, here] = [names(callers.map((caller) => caller.tool)), names(calling.map(({ name }) => name))]
  if (then !== here) return `the ${scope} approval ${id} of the key is for ${then}, and this is one of the ${here}`
  const others = [
    ...(origin.extension === now.extension && origin.layer === now.layer ? [] : ['its origin']),
    ...(digests.package === present.package ? [] : ['its package']),
    ...(digests.tool === present.tool ? [] : ['its definition']),
    ...(digests.capability === present.capability ? [] : ['its capabilities']),
    ...(callers.every(({ digest }, index) => digest === sha256(calling[index]!.identity)) ? [] : ['a tool that calls it']),
  ]
  const was = `${origin.layer} extension ${origin.extension} ${origin.version}`
  return `the ${scope} approval ${id} of the key was given to the ${was}; since then ${others.join(', ')} changed`
}
