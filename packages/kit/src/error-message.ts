/** The error numbers on Linux and on BSD systems. */
const EDQUOT: ReadonlySet<unknown> = new Set([-122, -69])

/**
 * Whether a disk quota is exceeded. Node has no name for this error and reports only its number.
 * Contract: never throws for an error of Node.
 */
export function isQuotaFault(error: unknown): boolean {
  const { errno, code } = (error ?? {}) as { readonly errno?: unknown; readonly code?: unknown }
  return EDQUOT.has(errno) && /^unknown/i.test(String(code))
}

/** The code of an error of Node or the system, such as ENOENT. Contract: never throws for an error of Node's. */
export const errorCode = (error: unknown): string | undefined => {
  const code = (error as { readonly code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : undefined
}

/** The message of any thrown value. Contract: never throws; 1 to 10,000 characters, well formed. */
export function messageOf(thrown: unknown): string {
  try {
    if (isQuotaFault(thrown)) return 'EDQUOT: disk quota exceeded'
    if (errorCode(thrown) === 'ENOSPC' && /no space left/.test((thrown as Error).message)) {
      return 'ENOSPC: the disk is full. Free some space, and try again'
    }
    const text = thrown instanceof Error ? thrown.message
      : typeof thrown === 'string' ? thrown : `threw ${String(thrown)}`
    if (typeof text !== 'string' || text === '') return 'threw an error without a message'
    return text.slice(0, 10_000).toWellFormed()
  } catch {
    return 'threw something that cannot be printed'
  }
}
