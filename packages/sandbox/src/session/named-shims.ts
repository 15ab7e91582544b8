import { SHIM_MODULES } from '../wire/shim-table.ts'

/** A name as a string of its own, as in an import. `subtle` is of the global `crypto`. */
const NAMED = /(['"`])(?:node:)?([a-z_/\d]{2,20})\1|\bsubtle\b/g

/** The shims that exist in every compartment and that this code names, so that they are sent along and made. */
export function namedShims(code: Iterable<readonly [path: string, bytes: Uint8Array]>): readonly string[] {
  const found = new Set<string>()
  for (const [, bytes] of code) {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
    for (const [, , name = 'crypto'] of text.matchAll(NAMED)) if (SHIM_MODULES.get(name)?.length === 0) found.add(name)
  }
  return [...found]
}
