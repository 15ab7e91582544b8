import { hash } from 'node:crypto'

/** What the first record continues. */
export const CHAIN_START = '0'.repeat(64)

/** Between the texts of records that are written together; none of them can hold one. */
export const BETWEEN = '\n'

/** The link of what was written together: the texts as they are kept, the first of which has this position. */
export const linkOf = (before: string, position: number, text: string): string => hash('sha256', `${before} ${position} ${text}`)
