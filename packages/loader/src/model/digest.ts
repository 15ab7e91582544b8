import { hash } from 'node:crypto'
import type { Manifest } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'

const SURROGATE = /[\ud800-\udfff]/

/** The order of the UTF-8 bytes: the same in every language, which the default order of UTF-16 units is not. */
export function byteOrder(left: string, right: string): number {
  // Without surrogates the two orders are one.
  if (!SURROGATE.test(left) && !SURROGATE.test(right)) return left < right ? -1 : left > right ? 1 : 0
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}

/** Lower-case hex. */
export const sha512 = (data: string | Uint8Array): string => hash('sha512', data, 'hex')

/** Over one line for each file, `path NUL digest LF`, in byte order. What an integrity file calls its root. */
export function packageDigest(files: ReadonlyMap<string, string>): string {
  return sha512([...files.keys()].toSorted(byteOrder).map((path) => `${path}\0${files.get(path)}\n`).join(''))
}

/** A bundled extension has no files: it is the host's own code of that version, with that manifest. */
export function bundledDigest(manifest: Manifest, coreVersion: string): string {
  return sha512(`bundled\0${coreVersion}\0${canonicalJson(manifest as unknown as Json)}`)
}

/** What of a manifest, or of a lock, says what the extension may do. */
interface Powers extends Pick<Manifest, 'env' | 'secrets'> {
  /** Whether it keeps state: a lock says only that. */
  readonly stateSlot?: object | true | null
  readonly tools: readonly Pick<Manifest['tools'][number], 'name' | 'requires'>[]
}

/**
 * Over what the whole extension may do: the requirements of every tool, its variables, where its secrets may go, and whether it
 * keeps state. Of one that keeps none it is the digest that locks had before state was written down.
 */
export function capabilityDigest(manifest: Powers): string {
  const tools = manifest.tools.map(({ name, requires }) => ({ name, requires }))
    .toSorted((left, right) => byteOrder(left.name, right.name))
  const secrets = manifest.secrets.toSorted((left, right) => byteOrder(left.name, right.name))
  return sha512(canonicalJson({ env: manifest.env.toSorted(byteOrder), secrets, tools, ...(manifest.stateSlot && { state: true }) } as unknown as Json))
}

/** Over the same, whichever tool it is that may do it. */
export function powersDigest(manifest: Pick<Powers, 'tools'>): string {
  const sets = new Set(manifest.tools.map(({ requires }) => canonicalJson(requires as unknown as Json)))
  return sha512(`powers\0${[...sets].toSorted(byteOrder).join('\n')}`)
}

/** Per tool, over everything a model or a policy is told of it. */
export function toolDigests(manifest: Manifest): ReadonlyMap<string, string> {
  return new Map(manifest.tools.map((tool) => [tool.name, sha512(canonicalJson(tool as unknown as Json))]))
}
