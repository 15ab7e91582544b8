import { hash } from 'node:crypto'

/** The digest of a text, in hex. */
export const sha256 = (text: string): string => hash('sha256', text)
