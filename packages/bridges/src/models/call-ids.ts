import { randomBytes } from 'node:crypto'

/**
 * Several models repeat ids, such as `call_0` in each response. The host refuses an id that a session has used, so a
 * repeated one gets a suffix on the way in, which the answer leaves out.
 */
const SUFFIX = /~[0-9a-f]{12}$/
/** Ids that models used, the latest last. One that is repeated stays known. */
const seen = new Set<string>()
const MAX_SEEN = 100_000

/** The id of a model's call for the host: its own, or one with a suffix if it is not the first with this id. */
export function hostCallId(id: string): string {
  // The host refuses what is no id.
  if (typeof id !== 'string' || id === '') return id
  const isKnown = seen.delete(id)
  seen.add(id)
  if (seen.size > MAX_SEEN) seen.delete(seen.values().next().value!)
  return isKnown || SUFFIX.test(id) ? `${id}~${randomBytes(6).toString('hex')}` : id
}

/** The id that the model gave the call. */
export const modelCallId = (id: string): string => id.replace(SUFFIX, '')
