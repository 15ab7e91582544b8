import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { CREDENTIALS } from '@bulkhead/contract'
import { isWithin, realOf, SYSTEM_FOLDERS } from '@bulkhead/kit/programs'

/** Access to these sockets means root. */
const CONTROL_SOCKETS = ['/run/docker.sock', '/run/podman/podman.sock', '/run/containerd/containerd.sock']

/** Credentials of a person, and sockets that give root. */
export const sensitivePaths = (home: string | undefined): readonly string[] =>
  [...(home === undefined ? [] : CREDENTIALS.map((name) => join(home, name))), ...CONTROL_SOCKETS]

/**
 * Options of `bwrap` for every wall. If the host runs as root, a process with capabilities could mount everything
 * writable again, and /proc has settings of the kernel that root may write without any.
 */
export const NO_PRIVILEGES: readonly string[] = ['--die-with-parent', '--cap-drop', 'ALL']
export const READ_ONLY_PROC: readonly string[] = ['--proc', '/proc', '--remount-ro', '/proc']

/** A path of the host and where a sandbox has it. */
export interface Mount {
  readonly from: string
  readonly to: string
  readonly kind: 'read' | 'write' | 'link'
}

/** An empty file or folder, read-only, instead of what is there. */
export interface Cover {
  readonly to: string
  readonly kind: 'file' | 'folder'
  /** Another file than an empty one. */
  readonly from?: string
}

/** A folder that each sandbox has its own of. `private`: an empty one in memory, which can be written. */
interface OwnFolder {
  readonly to: string
  readonly kind: 'private' | 'devices' | 'processes'
}

export type SandboxMount = Mount | Cover | OwnFolder

/** The folders with the programs of the system. */
export const systemMounts = (): readonly Mount[] => SYSTEM_FOLDERS.flatMap((folder) => {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  if (found === undefined) return []
  return [found.isSymbolicLink()
    ? { from: readlinkSync(folder), to: folder, kind: 'link' } : { from: folder, to: folder, kind: 'read' }]
})

/** Paths that do not exist are left out. */
export const mountsOf = (paths: readonly string[], kind: 'read' | 'write'): readonly Mount[] =>
  paths.flatMap((to) => {
    const from = realOf(to)
    return from === undefined ? [] : [{ from, to, kind }]
  })

/**
 * Without mounts that others show already. To mount them as well could fail: their paths may lead through links in a
 * folder that is read-only.
 */
export function outermostMounts(given: readonly Mount[], hidden: readonly string[]): readonly Mount[] {
  const mounts = [...new Map(given.map((mount) => [mount.to, mount])).values()]
  const shows = (outer: Mount, { from, to }: Mount): boolean =>
    outer.from === outer.to && isWithin(to, outer.to) && isWithin(from, outer.from)
    && !hidden.some((place) => isWithin(from, place) && isWithin(place, outer.from))
  return mounts.filter((mount) => !mounts.some((other) => other !== mount && shows(other, mount)))
}

/** Covers for the hidden paths inside a mount, unless another mount names them. */
export const coversIn = (
  { from, to }: Mount, hidden: readonly string[], others: readonly Mount[],
): readonly Cover[] => hidden.flatMap(hiddenPathAt)
  .filter(({ path }) => path !== from && isWithin(path, from) && !others.some((other) => other.from === path))
  .map(({ path, isFolder }) => ({ to: to + path.slice(from.length), kind: isFolder ? 'folder' : 'file' }))

interface HiddenPath {
  readonly path: string
  readonly isFolder: boolean
}

/** Resolved, because nothing can be mounted on a link. Empty if it does not exist. */
function hiddenPathAt(given: string): readonly HiddenPath[] {
  try {
    const path = realpathSync(given)
    return [{ path, isFolder: statSync(path).isDirectory() }]
  } catch {
    return []
  }
}

/**
 * The options of `bwrap` for these mounts. A mount covers what is below it, so the outer ones come first; of two at the
 * same path, the later one counts.
 */
export function mountOptions(mounts: readonly SandboxMount[]): readonly string[] {
  const all = new Map(mounts.map((mount) => [mount.to, mount]))
  const ordered = [...all.values()].toSorted((one, other) => depthOf(one.to) - depthOf(other.to))
  return [
    ...ordered.flatMap(optionsOf),
    // Only now: mounts inside an empty folder need a mount point there.
    ...ordered.flatMap(({ kind, to }) => kind === 'folder' ? ['--remount-ro', to] : []),
  ]
}

const depthOf = (path: string): number => path === '/' ? 0 : path.split('/').length

function optionsOf(mount: SandboxMount): readonly string[] {
  const { to } = mount
  switch (mount.kind) {
    case 'read':
      return ['--ro-bind', mount.from, to]
    case 'write':
      return ['--bind', mount.from, to]
    case 'link':
      return ['--symlink', mount.from, to]
    case 'file':
      return ['--ro-bind', mount.from ?? '/dev/null', to]
    case 'devices':
      return ['--dev', to]
    case 'processes':
      return READ_ONLY_PROC
    case 'folder':
    case 'private':
      return ['--tmpfs', to]
  }
}
