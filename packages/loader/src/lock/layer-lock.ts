import { join } from 'node:path'
import { LOCK_FILE, type ExtensionSigner, type Layer, type LockEntry } from '@bulkhead/contract'
import { sha512 } from '../model/digest.ts'
import { readRegularFile } from '../files/read-file.ts'
import type { LoaderLimits } from '../model/limits.ts'
import type { Fault } from '../model/result.ts'
import { parseLock, type Lock } from './lock-file.ts'

/** What is known of what was accepted in a layer. */
export type LayerLock =
  | { readonly kind: 'none' }
  /** `digest` is of the bytes that were read. */
  | { readonly kind: 'read'; readonly entries: Lock; readonly digest: string }
  | { readonly kind: 'unreadable'; readonly fault: Fault; readonly digest: string | null }
  /** Something is being looked at so that a person can decide. `attested`: who built it, as the registry's attestation proves. */
  | { readonly kind: 'deciding'; readonly source: string; readonly attested: ExtensionSigner | null }

export type LayerLocks = ReadonlyMap<Layer, LayerLock>

export const NO_LOCK: LayerLock = { kind: 'none' }

export const lockOf = (locks: LayerLocks, layer: Layer): LayerLock => locks.get(layer) ?? NO_LOCK

export const entryOf = (lock: LayerLock, id: string): LockEntry | undefined =>
  lock.kind === 'read' ? lock.entries.get(id) : undefined

/** The lock of a layer. A link is not followed: it is replaced as a whole whenever something is accepted. Contract: never throws. */
export function readLayerLock(root: string, limits: LoaderLimits): LayerLock {
  const location = join(root, LOCK_FILE)
  const file = readRegularFile(location, { maxBytes: limits.lockBytes })
  if (!file.ok) return file.problem === 'missing' ? NO_LOCK : unreadable(null, location, '', file.message)
  const digest = sha512(file.bytes)
  const parsed = parseLock(file.bytes)
  return parsed.ok ? { kind: 'read', entries: parsed.lock, digest } : unreadable(digest, location, parsed.path, parsed.message)
}

/** Of the very bytes that count, for whoever binds trust to them; null where there is no lock, or none that can be read. */
export const lockDigest = (lock: LayerLock): string | null => 'digest' in lock ? lock.digest : null

const unreadable = (digest: string | null, location: string, path: string, what: string): LayerLock => ({
  kind: 'unreadable',
  digest,
  fault: {
    stage: 'lock', code: 'LockInvalid', path, location,
    message: `${LOCK_FILE} ${what}. Until it can be read it is not known what was accepted, so nothing of this layer is loaded.`,
  },
})

/** The scope of the npm package something was installed from, such as @acme. */
export function npmScopeOf(lock: LayerLock, id: string): string | undefined {
  const source = lock.kind === 'deciding' ? lock.source : entryOf(lock, id)?.source
  return source === undefined ? undefined : /^npm:(@[^/]+)\//.exec(source)?.[1]
}

/**
 * Who built a package by what the registry attested of its tarball. That was proven when it was installed and cannot be
 * proven again, for the tarball is gone; the lock keeps it together with the bytes. It counts where the operator's own hand
 * wrote the lock: that of a project says what the project wants to be believed.
 */
export function attestedSigner(lock: LayerLock, layer: Layer, id: string, root: () => string): ExtensionSigner | undefined {
  if (lock.kind === 'deciding') return lock.attested ?? undefined
  const entry = entryOf(lock, id)
  if (layer !== 'global' || entry?.signedBy !== 'npm' || entry.signer === null) return undefined
  return entry.root === root() ? entry.signer : undefined
}

/** Below the root of a layer: what was installed, each version in a folder of its own. */
export const INSTALLED_FOLDER = 'installed'

/**
 * Where an accepted package stands. The name follows from what was accepted, so that replacing the lock is what replaces a
 * package: the old folder and the new one are both there, and the lock says which counts. Nothing of it is a stranger's text.
 */
export const installedFolder = (root: string, id: string, packageRoot: string): string =>
  join(root, installedPart(id, packageRoot))

/** The same inside its layer. */
export const installedPart = (id: string, packageRoot: string): string => `${INSTALLED_FOLDER}/${id}-${packageRoot.slice(0, 32)}`

export const isInstalled = ({ source }: LockEntry): boolean => source !== 'in-place'
