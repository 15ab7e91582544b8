/** What the systems call it: Linux, and those that come from BSD. */
const EDQUOT: ReadonlySet<unknown> = new Set([-122, -69])

/**
 * Whether the quota of a disk is used up. Node has no name for that fault and tells its number alone, as code and as message.
 * Contract: never throws for an error of Node's.
 */
export function isQuotaFault(error: unknown): boolean {
  const { errno, code } = (error ?? {}) as { readonly errno?: unknown; readonly code?: unknown }
  return EDQUOT.has(errno) && /^unknown/i.test(String(code))
}
