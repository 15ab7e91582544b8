import { ProtectedPlaces, protectionReason, type ReaderContext } from '@bulkhead/contract'

/** By the folders they were made for, which stay the same for as long as a host is open. */
const places = new WeakMap<readonly string[], ProtectedPlaces>()
const NONE: readonly string[] = []

/** Why the broker would not write a place for a tool whose patterns name nothing in the workspace. Empty where it would. */
export function whyNotWritten(place: string, written: string, { workspace, neverWritten = NONE }: ReaderContext): readonly string[] {
  const known = places.get(neverWritten) ?? new ProtectedPlaces(neverWritten)
  places.set(neverWritten, known)
  const protection = known.find(place, workspace)
  return protection === undefined ? [] : [`"${written}" ${protectionReason(protection)}`]
}
