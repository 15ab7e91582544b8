import { lstatSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { hiddenPathAt } from '@bulkhead/broker'
import { mustBeNamed, type JailGrant } from '@bulkhead/contract'
import { namesIn } from '@bulkhead/kit/folders'
import { isWithin, realOf, SYSTEM_FOLDERS } from '@bulkhead/kit/programs'

/** The private home folder of a server. */
export const JAIL_HOME = '/home/server'

/** Settings of the system that programs read. Not all of /etc: root could read keys there. */
const SETTINGS = [
  'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'alternatives', 'ssl/certs', 'ssl/openssl.cnf', 'ssl/cert.pem',
  'ca-certificates', 'pki/ca-trust', 'pki/tls/certs', 'pki/tls/cert.pem', 'crypto-policies', 'localtime', 'timezone',
  'nsswitch.conf', 'host.conf', 'protocols', 'services', 'mime.types', 'fonts',
]

/** Files of /etc that every jail has. They name no one of the host. */
export const ETC_FILES: readonly (readonly [path: string, content: string])[] = [
  ['/etc/passwd', `server:x:1000:1000:server:${JAIL_HOME}:/bin/sh\n`],
  ['/etc/group', 'server:x:1000:\n'],
  ['/etc/hosts', '127.0.0.1 localhost\n::1 localhost\n'],
]

/** A path of the host and where the server sees it. */
interface Mount {
  readonly from: string
  readonly to: string
  readonly kind: 'read' | 'write' | 'hide'
}

export interface MountPlan {
  readonly grant: JailGrant
  /** Files and folders of programs, besides those of the system. */
  readonly code: readonly string[]
  /** Paths that no grant above them includes. */
  readonly hidden: readonly string[]
  /** Canonical paths that are never written. */
  readonly readOnly: readonly string[]
}

/** The programs and settings of the system, as arguments of `bwrap`. */
export const systemArgs = (): readonly string[] => [
  ...SYSTEM_FOLDERS.flatMap((folder) => {
    const found = lstatSync(folder, { throwIfNoEntry: false })
    if (found === undefined) return []
    return found.isSymbolicLink() ? ['--symlink', readlinkSync(folder), folder] : ['--ro-bind', folder, folder]
  }),
  ...SETTINGS.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
]

/**
 * Everything that is granted, as arguments of `bwrap`. A mount covers what is below it, so the outer ones come first.
 * Read at each start, because credentials and folders come and go.
 */
export function grantArgs(plan: MountPlan): readonly string[] {
  const { grant, code } = plan
  const isReadOnly = (path: string) => plan.readOnly.some((place) => isWithin(path, place))
  const granted = [...mountsOf(grant.read, 'read'), ...mountsOf(grant.write, 'write')]
    .map((mount): Mount => isReadOnly(mount.from) ? { ...mount, kind: 'read' } : mount)
  const isVisible = (path: string) => granted.some(({ from, to }) => from === to && isWithin(path, to))
    && !plan.hidden.some((place) => isWithin(path, place))
  const programs = mountsOf(code.filter((path) => !isVisible(path)), 'read')
  const covers = granted.flatMap((mount) => [
    ...hiddenIn(mount, plan, granted), ...(mount.kind === 'write' ? protectedIn(mount, plan, granted) : []),
  ])
  // A later mount at the same path replaces an earlier one.
  const all = new Map([...programs, ...granted, ...covers].map((mount) => [mount.to, mount]))
  const ordered = [...all.values()].toSorted((one, other) => depthOf(one.to) - depthOf(other.to))
  const hiddenFolders = ordered.filter(({ kind, from }) => kind === 'hide' && from === '')
  return [
    ...ordered.flatMap(mountArgs),
    // Only now: mounts inside a hidden folder need a mount point there.
    ...hiddenFolders.flatMap(({ to }) => ['--remount-ro', to]),
  ]
}

const depthOf = (path: string): number => path.split('/').length

/** Paths that do not exist are left out. */
const mountsOf = (paths: readonly string[], kind: 'read' | 'write'): readonly Mount[] =>
  paths.flatMap((to) => {
    const from = realOf(to)
    return from === undefined ? [] : [{ from, to, kind }]
  })

/** Hidden paths inside a granted folder, unless a grant names them. */
function hiddenIn({ from, to }: Mount, { hidden }: MountPlan, granted: readonly Mount[]): readonly Mount[] {
  return hidden.flatMap(hiddenPathAt)
    .filter(({ path }) => path !== from && isWithin(path, from) && !granted.some((other) => other.from === path))
    .map(({ path, isFolder }) =>
      ({ from: isFolder ? '' : '/dev/null', to: to + path.slice(from.length), kind: 'hide' }))
}

/**
 * What a server may not write inside a folder that it may write: code and settings of the host, and files at the top of
 * the folder that other programs run, unless a grant names them.
 */
function protectedIn(mount: Mount, { readOnly }: MountPlan, granted: readonly Mount[]): readonly Mount[] {
  const { from, to } = mount
  const inside = readOnly.filter((path) => path !== from && isWithin(path, from) && realOf(path) === path)
  const isNamed = (path: string) =>
    granted.some((other) => other !== mount && other.kind === 'write' && isWithin(other.from, path))
  const run = namesIn(from).filter(mustBeNamed).map((name) => join(from, name)).filter((path) => !isNamed(path))
  return [...inside, ...run].flatMap((path) => {
    const real = realOf(path)
    return real === undefined ? [] : [{ from: real, to: to + path.slice(from.length), kind: 'read' as const }]
  })
}

function mountArgs({ from, to, kind }: Mount): readonly string[] {
  if (kind === 'hide' && from === '') return ['--tmpfs', to]
  return [kind === 'write' ? '--bind' : '--ro-bind', from, to]
}
