import { join } from 'node:path'
import { LOCK_FILE, type ExtensionSigner, type Layer, type LockEntry } from '@bulkhead/contract'
import { sha512 } from '../model/digest.ts'
import { readRegularFile } from '../files/read-file.ts'
import type { LoaderLimits } from '../model/limits.ts'
import type { Fault } from '../model/result.ts'
import { parseLock, type Lock } from './lock-file.ts'

/** The lock of a layer. */
export type LayerLock =
  | { readonly kind: 'none' }
  /** `digest` covers the bytes that were read. */
  | { readonly kind: 'read'; readonly entries: Lock; readonly digest: string }
  | { readonly kind: 'unreadable'; readonly fault: Fault; readonly digest: string | null }
  /** A package is being proven before a person decides. `attested`: the builder that the registry attests. */
  | { readonly kind: 'deciding'; readonly source: string; readonly attested: ExtensionSigner | null }

export type LayerLocks = ReadonlyMap<Layer, LayerLock>

export const NO_LOCK: LayerLock = { kind: 'none' }

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
  return parsed.ok ? { kind: 'read', entries: parsed.lock, digest } : unreadable(digest, location, parsed.path, parsed.message)
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
 * The builder that the registry attested. It was verified during installation, and cannot be verified again without the tarball, so the
 * lock stores it. Only the global lock counts: a project controls its own lock.
 */
export function attestedSigner(lock: LayerLock, layer: Layer, id: string, root: () => string): ExtensionSigner | undefined {
  if (lock.kind === 'deciding') return lock.attested ?? undefined
  const entry = entryOf(lock, id)
  if (layer !== 'global' || entry?.signedBy !== 'npm' || entry.signer === null) return undefined
  return entry.root === root() ? entry.signer : undefined
}

/** The folder of installed packages below the root of a layer. Each version has its own folder. */
export const INSTALLED_FOLDER = 'installed'

/**
 * The folder of an accepted package. Its name contains the digest, so the old and the new version can exist side by side, and
 * replacing the lock switches between them.
 */
export const installedFolder = (root: string, id: string, packageRoot: string): string =>
  join(root, installedPart(id, packageRoot))

/** The path inside the layer. */
export const installedPart = (id: string, packageRoot: string): string => `${INSTALLED_FOLDER}/${id}-${packageRoot.slice(0, 32)}`

export const isInstalled = ({ source }: LockEntry): boolean => source !== 'in-place'
