import { hash } from 'node:crypto'

/** What the first record continues. */
export const CHAIN_START = '0'.repeat(64)

/** Between the texts of records that are written together; none of them can hold one. */
export const BETWEEN = '\n'

/** The hash link of one group: the stored texts, the first at this position. */
export const linkOf = (before: string, position: number, text: string): string => hash('sha256', `${before} ${position} ${text}`)

/** Placeholder for a digest in a draft. The JSON written here never contains it. */
export const GAP = '\0'

/** What will be one row of the audit, but for its digests: these take time, and can be taken elsewhere. */
export interface AuditDraft {
  readonly text: string
  /** One for each gap. */
  readonly digested: readonly string[]
  /** How many records it is. */
  readonly count: number
}

export function finish({ text, digested }: AuditDraft): string {
  if (digested.length === 0) return text
  const [head = '', ...parts] = text.split(GAP)
  return parts.reduce((finished, part, index) => finished + hash('sha256', digested[index] ?? '') + part, head)
}
