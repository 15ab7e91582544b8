/** Attacks of this corpus that are not withstood yet, each with what is missing. One that is withstood must leave the list. */
export const KNOWN_HOLES: ReadonlyMap<number, string> = new Map()
