/** Attacks that still succeed, each with the missing defence. A test fails when a listed attack no longer succeeds. */
export const KNOWN_HOLES: ReadonlyMap<number, string> = new Map()
