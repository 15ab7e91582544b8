import { SIGNATURE_FILE } from './signature-file.ts'

/** Vouches for every other file of its package. It is no part of what is hashed, nor of what the code can see. */
export const INTEGRITY_FILE = 'bulkhead.integrity.json'

/** Whether the file is the package's own, rather than said about it. */
export const isCovered = (path: string): boolean => path !== INTEGRITY_FILE && path !== SIGNATURE_FILE

/** The files a package digest is taken over. */
export const coveredFiles = (digests: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  new Map([...digests].filter(([path]) => isCovered(path)))
