import { readFileSync, statSync, type Dirent } from 'node:fs'
import { join } from 'node:path'
import { entriesIn, scanningOnce } from '@bulkhead/kit/folders'
import { isOfSystem, isWithin, linkedFrom } from '@bulkhead/kit/programs'
import { mountsOf, type Cover, type SandboxMount } from '../process/mounts.ts'

/** Passwords, keys of services and private keys, by their names. */
const SECRET = /^(?:g?shadow.*|ssh|private|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?)$|(?:_key|\.(?:key|p12|pfx|jks|keystore|keytab|ppk))$/
const READABLE_BY_ALL = 0o004
const ENTERED_BY_ALL = 0o005
const CERTIFICATE_BYTES = 1024 * 1024

/** Settings that may be links to elsewhere, without which programs find no host and no certificate. */
const NEEDED = ['resolv.conf', 'hosts', 'localtime', 'ssl/certs', 'ssl/cert.pem', 'ssl/ca-bundle.pem']

/** The settings that an isolated command sees. */
export const ISOLATED_SETTINGS: readonly string[] = ['/etc/alternatives', '/etc/ld.so.cache', '/etc/localtime']

/** The folder with the settings of the system, without its secrets. */
export function settingsMounts(folder = '/etc'): readonly SandboxMount[] {
  const needed = NEEDED.flatMap((name) => linkedFrom(join(folder, name)))
    .filter((path) => !isWithin(path, folder) && !isOfSystem(path))
  return [...mountsOf([folder, ...needed], 'read'), ...secretsIn(folder)]
}

/** Everything that not every user of the machine may read counts as a secret: the host may run as root. */
const secretsIn = (folder: string): readonly Cover[] => {
  const found = scan(folder)
  return found === undefined ? [] : [...found.secrets, ...found.folders.flatMap(secretsIn)]
}

const scan = scanningOnce((folder) => {
  const secrets: Cover[] = []
  const folders: string[] = []
  // A folder that the host cannot read, commands cannot read either.
  for (const entry of entriesIn(folder)) {
    if (!entry.isFile() && !entry.isDirectory()) continue
    const to = join(folder, entry.name)
    if (isSecret(entry, to)) secrets.push({ to, kind: entry.isDirectory() ? 'folder' : 'file' })
    else if (entry.isDirectory()) folders.push(to)
  }
  return { secrets, folders }
})

function isSecret(entry: Dirent, path: string): boolean {
  if (SECRET.test(entry.name)) return true
  try {
    const { mode, size } = statSync(path)
    const needed = entry.isDirectory() ? ENTERED_BY_ALL : READABLE_BY_ALL
    if ((mode & needed) !== needed) return true
    if (!entry.name.endsWith('.pem')) return false
    return size > CERTIFICATE_BYTES || readFileSync(path).includes('PRIVATE KEY')
  } catch {
    // It has gone, or cannot be read by commands either.
    return false
  }
}
