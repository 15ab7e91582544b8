import { createRequire } from 'node:module'

const load = createRequire(import.meta.url)

// Libraries that take longer to load than a host takes to start, and that many a start does without: a list of tools, or a host
// whose tools are never called. Whoever asks for one cannot wait, so it is there at once.

export const ajv = (): typeof import('ajv/dist/2020.js') => load('ajv/dist/2020.js')
export const re2js = (): typeof import('re2js') => load('re2js')

/** All of them, before code of strangers runs: what is on the disk afterwards makes no difference. */
export function loadLateLibraries(): void {
  for (const library of [ajv, re2js]) library()
}
