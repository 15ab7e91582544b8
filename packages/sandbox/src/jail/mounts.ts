import { join } from 'node:path'
import { coversIn, mountOptions, mountsOf, systemMounts, type Mount } from '@bulkhead/broker'
import { mustBeNamed, type JailGrant } from '@bulkhead/contract'
import { foldersBetween, namesIn } from '@bulkhead/kit/folders'
import { isWithin, realOf } from '@bulkhead/kit/programs'

/** The private home folder of a server. */
export const JAIL_HOME = '/home/server'

/** Settings of the system that programs read. Not all of /etc: root could read keys there. */
export const SETTINGS: readonly string[] = [
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

export interface MountPlan {
  readonly grant: JailGrant
  /** Files and folders of programs, besides those of the system. */
  readonly code: readonly string[]
  /** Paths that no grant above them includes. */
  readonly hidden: readonly string[]
  /** Canonical paths that are never written. */
  readonly readOnly: readonly string[]
  /** Canonical paths that other programs run, at any depth of what may be written. */
  readonly run: readonly string[]
}

/** The programs and settings of the system, as arguments of `bwrap`. */
export const systemArgs = (): readonly string[] => [
  ...mountOptions(systemMounts()),
  ...SETTINGS.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
]

/** Everything that is granted, as arguments of `bwrap`. Read at each start: credentials and folders come and go. */
export function grantArgs(plan: MountPlan): readonly string[] {
  const { grant, code } = plan
  const isReadOnly = (path: string) => plan.readOnly.some((place) => isWithin(path, place))
  const granted = [...mountsOf(grant.read, 'read'), ...mountsOf(grant.write, 'write')]
    .map((mount): Mount => isReadOnly(mount.from) ? { ...mount, kind: 'read' } : mount)
  const isVisible = (path: string) => granted.some(({ from, to }) => from === to && isWithin(path, to))
    && !plan.hidden.some((place) => isWithin(path, place))
  const programs = mountsOf(code.filter((path) => !isVisible(path)), 'read')
  const covers = granted.flatMap((mount) => [
    ...coversIn(mount, plan.hidden, granted), ...(mount.kind === 'write' ? protectedIn(mount, plan, granted) : []),
  ])
  // A folder above a protected place could be moved away with it, unless something is mounted there.
  const above = granted.filter(({ kind }) => kind === 'write').flatMap((mount) => aboveProtected(mount, plan))
  return mountOptions([...above, ...programs, ...granted, ...covers])
}

/**
 * What a server may not write inside a folder that it may write: code and settings of the host, and files that other
 * programs run, unless a grant names them.
 */
function protectedIn(mount: Mount, plan: MountPlan, granted: readonly Mount[]): readonly Mount[] {
  const { from, to } = mount
  const inside = plan.readOnly.filter((path) => path !== from && isWithin(path, from) && realOf(path) === path)
  const isNamed = (path: string) =>
    granted.some((other) => other !== mount && other.kind === 'write' && isWithin(other.from, path))
  const run = [...namesIn(from).filter(mustBeNamed).map((name) => join(from, name)), ...plan.run]
    .filter((path) => isWithin(path, from) && !isNamed(path))
  return [...inside, ...run].flatMap((path) => {
    const real = realOf(path)
    return real === undefined ? [] : [{ from: real, to: to + path.slice(from.length), kind: 'read' as const }]
  })
}

/** The folders between a folder that a server may write and what it may not write there. */
function aboveProtected({ from, to }: Mount, { readOnly, hidden, run }: MountPlan): readonly Mount[] {
  const closed = [...readOnly, ...hidden]
  return [...readOnly, ...run].filter((path) => isWithin(path, from) && realOf(path) === path)
    .flatMap((path) => foldersBetween(from, path))
    .filter((folder) => !closed.some((place) => isWithin(folder, place)))
    .map((folder) => ({ from: folder, to: to + folder.slice(from.length), kind: 'write' }))
}
