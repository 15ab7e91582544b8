import { BulkheadError, ERRORS } from '@bulkhead/contract'

export interface Check {
  readonly status: 'ok' | 'warning' | 'problem'
  readonly name: string
  readonly found: string
  /** What it costs to leave it so. */
  readonly cost?: string
  readonly cure?: string
}

export const ok = (name: string, found: string): Check => ({ status: 'ok', name, found })

/** An error as a check. */
export function problem(name: string, error: unknown, cost: string): Check {
  const { code, message } = BulkheadError.from(error)
  return { status: 'problem', name, found: `${code}: ${message}`, cost, cure: ERRORS[code].cure }
}
