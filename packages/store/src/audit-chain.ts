import { hash } from 'node:crypto'

/** What the first record continues. */
export const CHAIN_START = '0'.repeat(64)

/** The link of a record, by its text as it is kept. */
export const linkOf = (before: string, position: number, text: string): string => hash('sha256', `${before} ${position} ${text}`)
