import { join } from 'node:path'
import {
  LOCK_FILE, LOCK_VERSION, type AcceptedCapabilities, type ExtensionDescriptor, type ExtensionSigner, type Layer,
  type LockEntry, type Manifest,
} from '@bulkhead/contract'
import { lockFileSchema, placeIssues, pointerOf } from '@bulkhead/contract/validation'
import type { Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { readRegularFile } from '../files/read-file.ts'
import type { PackageContents } from '../files/read-package.ts'
import { parseStrictJson } from '../files/json-file.ts'
import { byteOrder, capabilityDigest, sha512 } from '../model/digest.ts'
import type { LoaderLimits } from '../model/limits.ts'
import type { Fault } from '../model/result.ts'

/** Accepted extensions of a layer, by id. */
export type Lock = ReadonlyMap<string, LockEntry>

export type ParsedLock =
  | { readonly ok: true; readonly lock: Lock }
  /** The message continues a sentence that starts with the name of the file. */
  | { readonly ok: false; readonly path: string; readonly message: string }

/** Contract: never throws. One invalid entry makes the whole lock invalid. */
export function parseLock(bytes: Uint8Array): ParsedLock {
  const json = parseStrictJson(bytes)
  if (!json.ok) return { ok: false, path: json.path, message: json.message }
  const parsed = lockFileSchema.safeParse(json.value)
  if (!parsed.success) {
    const [first = { steps: [], message: 'is wrong' }] = placeIssues(parsed.error.issues, lockFileSchema)
    return fault(pointerOf(first.steps), first.message)
  }
  const entries = Object.entries(parsed.data.extensions)
  for (const [id, entry] of entries) {
    const message = findContradiction(entry)
    if (message !== undefined) return fault(pointerOf(['extensions', id]), message)
  }
  return { ok: true, lock: new Map(entries) }
}

/** People read the capabilities of an entry, so they must match its digest. */
function findContradiction({ capability, capabilities, tools, signer, signedBy }: LockEntry): string | undefined {
  if (declaredDigest(capabilities) !== capability) return 'has capabilities that do not match its digest'
  if (Object.keys(tools).toSorted().join() !== Object.keys(capabilities.tools).toSorted().join()) {
    return 'lists different tools in two places'
  }
  return (signer === null) === (signedBy === null) ? undefined : 'has only one of signer and signedBy'
}

const declaredDigest = ({ env, secrets, state, tools }: AcceptedCapabilities): string =>
  capabilityDigest({
    env, secrets, stateSlot: state ?? null,
    tools: Object.entries(tools).map(([name, requires]) => ({ name, requires })),
  })

/** One value per line in a fixed order, so that diffs are small. */
export function formatLock(lock: Lock): string {
  const extensions = sorted([...lock].map(([id, entry]): [string, LockEntry] => [id, {
    version: entry.version, root: entry.root, source: entry.source, signer: entry.signer, signedBy: entry.signedBy,
    capability: entry.capability,
    capabilities: {
      env: entry.capabilities.env.toSorted(byteOrder),
      secrets: entry.capabilities.secrets.toSorted((left, right) => byteOrder(left.name, right.name)),
      ...(entry.capabilities.state && { state: true as const }),
      tools: sorted(Object.entries(entry.capabilities.tools)),
    },
    tools: sorted(Object.entries(entry.tools)), accepted: entry.accepted,
  }]))
  return JSON.stringify({ lockVersion: LOCK_VERSION, extensions } as unknown as Json, null, 2) + '\n'
}

const sorted = <T>(entries: readonly (readonly [string, T])[]): Record<string, T> =>
  Object.fromEntries(entries.toSorted(([left], [right]) => byteOrder(left, right)))

const fault = (path: string, message: string): ParsedLock =>
  ({ ok: false, path, message: path === '' ? message : `has a value at ${visibleText(path)} that ${message}` })

export const capabilitiesOf = ({ env, secrets, stateSlot, tools }: Manifest): AcceptedCapabilities => ({
  env: [...env], secrets: [...secrets], ...(stateSlot && { state: true }),
  tools: Object.fromEntries(tools.map(({ name, requires }) => [name, requires])),
})

/** Recorded when a person accepts an extension. */
export interface Acceptance {
  readonly source: string
  readonly signedBy: LockEntry['signedBy']
  readonly at: Date
  readonly by: string
}

export function lockEntryOf(extension: ExtensionDescriptor, { source, signedBy, at, by }: Acceptance): LockEntry {
  const { version, digests, signer, manifest } = extension
  return {
    version, root: digests.package, source,
    signer: signer === undefined ? null : { ...signer }, signedBy: signer === undefined ? null : signedBy,
    capability: digests.capability, capabilities: capabilitiesOf(manifest), tools: Object.fromEntries(digests.tools),
    accepted: { at: at.toISOString(), by },
  }
}

/** The lock of a layer. */
export type LayerLock =
  | { readonly kind: 'none' }
  /** `digest` covers the bytes that were read. */
  | { readonly kind: 'read'; readonly entries: Lock; readonly digest: string }
  | { readonly kind: 'unreadable'; readonly fault: Fault; readonly digest: string | null }
  /** A package is being proven before a person decides. `attested`: the builder that the registry attests. */
  | { readonly kind: 'deciding'; readonly source: string; readonly attested: ExtensionSigner | null }

export type LayerLocks = ReadonlyMap<Layer, LayerLock>

const NO_LOCK: LayerLock = { kind: 'none' }

export const lockOf = (locks: LayerLocks, layer: Layer): LayerLock => locks.get(layer) ?? NO_LOCK

export const entryOf = (lock: LayerLock, id: string): LockEntry | undefined =>
  lock.kind === 'read' ? lock.entries.get(id) : undefined

/** Reads the lock of a layer. Links are not followed, because each change replaces the file. Contract: never throws. */
export function readLayerLock(root: string, limits: LoaderLimits): LayerLock {
  const location = join(root, LOCK_FILE)
  const file = readRegularFile(location, { maxBytes: limits.lockBytes })
  if (!file.ok) return file.problem === 'missing' ? NO_LOCK : unreadable(null, location, '', file.message)
  const digest = sha512(file.bytes)
  const parsed = parseLock(file.bytes)
  return parsed.ok
    ? { kind: 'read', entries: parsed.lock, digest } : unreadable(digest, location, parsed.path, parsed.message)
}

/** The digest of the lock; null if it is missing or unreadable. */
export const lockDigest = (lock: LayerLock): string | null => 'digest' in lock ? lock.digest : null

const unreadable = (digest: string | null, location: string, path: string, what: string): LayerLock => ({
  kind: 'unreadable',
  digest,
  fault: {
    stage: 'lock', code: 'LockInvalid', path, location,
    message: `${LOCK_FILE} ${what}. The accepted packages are unknown, so nothing of this layer is loaded.`,
  },
})

/** The npm scope of the source of an extension, such as @acme. */
export function npmScopeOf(lock: LayerLock, id: string): string | undefined {
  const source = lock.kind === 'deciding' ? lock.source : entryOf(lock, id)?.source
  return source === undefined ? undefined : /^npm:(@[^/]+)\//.exec(source)?.[1]
}

/**
 * The builder that the registry attested. It was verified during installation, and cannot be verified again without the
 * tarball, so the lock stores it. Only the global lock counts: a project controls its own lock.
 */
export function attestedSigner(
  lock: LayerLock, layer: Layer, id: string, root: () => string,
): ExtensionSigner | undefined {
  if (lock.kind === 'deciding') return lock.attested ?? undefined
  const entry = entryOf(lock, id)
  if (layer !== 'global' || entry?.signedBy !== 'npm' || entry.signer === null) return undefined
  return entry.root === root() ? entry.signer : undefined
}

/** The folder of installed packages below the root of a layer. Each version has its own folder. */
export const INSTALLED_FOLDER = 'installed'

/**
 * The folder of an accepted package. Its name contains the digest, so the old and the new version can exist side by
 * side, and replacing the lock switches between them.
 */
export const installedFolder = (root: string, id: string, packageRoot: string): string =>
  join(root, installedPart(id, packageRoot))

/** The path inside the layer. */
export const installedPart = (id: string, packageRoot: string): string =>
  `${INSTALLED_FOLDER}/${id}-${packageRoot.slice(0, 32)}`

export const isInstalled = ({ source }: LockEntry): boolean => source !== 'in-place'

/** A change to one entry of a lock, with the files it needs. */
export interface LockChange {
  readonly id: string
  /** The entry that the decision was based on. The change fails if it differs now. */
  readonly before: LockEntry | null
  /** null to uninstall. */
  readonly after: LockEntry | null
  /** The files of `after`; absent if they are already in place. */
  readonly contents?: PackageContents
}
