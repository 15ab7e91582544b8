/** Vouches for every other file of its package. It is no part of what is hashed, nor of what the code can see. */
export const INTEGRITY_FILE = 'bulkhead.integrity.json'

/** The files a package digest is taken over. */
export const coveredFiles = (digests: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  new Map([...digests].filter(([path]) => path !== INTEGRITY_FILE))
