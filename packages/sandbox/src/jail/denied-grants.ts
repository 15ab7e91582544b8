import { findDenied, notHidden, tooManyHidden } from '@bulkhead/broker'
import type { JailGrant, ServerStart } from '@bulkhead/contract'
import { isWithin, realOf } from '@bulkhead/kit/programs'

/** Each mount costs bubblewrap more than the one before. */
const MOST_PLACES = 1_000

/** A grant without what rules deny. */
export interface RuledGrant {
  readonly grant: JailGrant
  /** Canonical paths inside the grant that are not seen. */
  readonly hidden: readonly string[]
  /** Canonical paths inside the grant that are not written. */
  readonly readOnly: readonly string[]
}

/** `hasMounts`: bubblewrap works. Rejects with RuleDenied if something that rules deny cannot be hidden. */
export async function ruledGrant({ grant, denied }: ServerStart, hasMounts: boolean): Promise<RuledGrant> {
  if (denied === undefined) return { grant, hidden: [], readOnly: [] }
  const isAllowed = (capability: 'fs.read' | 'fs.write') => (path: string): boolean =>
    denied.hasExceptions || denied.ruleFor(capability, realOf(path) ?? path) === undefined
  const read = [...new Set([...grant.read, ...grant.write])].filter(isAllowed('fs.read'))
  const write = grant.write.filter((path) => read.includes(path)).filter(isAllowed('fs.write'))
  const roots = [...new Set(read.flatMap((path) => realOf(path) ?? []))]
  const places = await findDenied(roots, denied)
  if (hasMounts && places.length > MOST_PLACES) throw tooManyHidden(places[0]!.rule, places.length, 'server')
  const written = write.flatMap((path) => realOf(path) ?? [])
  const inWritten = places.find(({ path }) => written.some((folder) => isWithin(path, folder)))
  if (!hasMounts && inWritten) {
    throw notHidden(
      inWritten.rule, `without bubblewrap a server that writes cannot be kept from "${inWritten.path}"`, 'server',
    )
  }
  const pathsOf = (isHidden: boolean) => places.filter((place) => place.isHidden === isHidden).map(({ path }) => path)
  return { grant: { ...grant, read, write }, hidden: pathsOf(true), readOnly: pathsOf(false) }
}
