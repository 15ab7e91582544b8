import { hash } from 'node:crypto'
import type { Manifest } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'

const SURROGATE = /[\ud800-\udfff]/

/** Compares by UTF-8 bytes. Other languages sort so too; the default order compares UTF-16 units. */
export function byteOrder(left: string, right: string): number {
  // Without surrogates both orders agree.
  if (!SURROGATE.test(left) && !SURROGATE.test(right)) return left < right ? -1 : left > right ? 1 : 0
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}

/** Lower-case hex. */
export const sha512 = (data: string | Uint8Array): string => hash('sha512', data, 'hex')

/** Over one line per file, `path NUL digest LF`, in byte order: the `root` of an integrity file. */
export function packageDigest(files: ReadonlyMap<string, string>): string {
  return sha512([...files.keys()].toSorted(byteOrder).map((path) => `${path}\0${files.get(path)}\n`).join(''))
}

/** A bundled extension has no files; the host version and the manifest identify it. */
export function bundledDigest(manifest: Manifest, coreVersion: string): string {
  return sha512(`bundled\0${coreVersion}\0${canonicalJson(manifest as unknown as Json)}`)
}

/** The parts of a manifest or a lock entry that grant powers. */
interface Powers extends Pick<Manifest, 'env' | 'secrets'> {
  /** A lock entry stores only whether there is state. */
  readonly stateSlot?: object | true | null
  readonly tools: readonly Pick<Manifest['tools'][number], 'name' | 'requires'>[]
}

/**
 * Over the powers of the whole extension: requirements of its tools, variables, secrets and state. Without state the
 * digest equals that of locks written before state was recorded.
 */
export function capabilityDigest(manifest: Powers): string {
  const tools = manifest.tools.map(({ name, requires }) => ({ name, requires }))
    .toSorted((left, right) => byteOrder(left.name, right.name))
  const secrets = manifest.secrets.toSorted((left, right) => byteOrder(left.name, right.name))
  return sha512(canonicalJson({
    env: manifest.env.toSorted(byteOrder), secrets, tools, ...(manifest.stateSlot && { state: true }),
  } as unknown as Json))
}

/** Over the distinct requirements, independent of the tools that have them. */
export function powersDigest(manifest: Pick<Powers, 'tools'>): string {
  const sets = new Set(manifest.tools.map(({ requires }) => canonicalJson(requires as unknown as Json)))
  return sha512(`powers\0${[...sets].toSorted(byteOrder).join('\n')}`)
}

/** Per tool, over its whole definition. */
export function toolDigests(manifest: Manifest): ReadonlyMap<string, string> {
  return new Map(manifest.tools.map((tool) => [tool.name, sha512(canonicalJson(tool as unknown as Json))]))
}
