import { readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { checkServerIdentity, type ConnectionOptions } from 'node:tls'
import { errorCode, messageOf } from '@bulkhead/kit/error-message'
import { storeError } from '@bulkhead/store/records'
import type { StoreUrl } from './store-url.ts'

/** Read with each connection, because secrets are replaced while a host runs. Throws StoreUnavailable. */
export function readPassword(url: StoreUrl): string | undefined {
  if (url.passwordfile !== undefined) return readSecret(url.passwordfile, 'passwordfile').replace(/\r?\n$/, '')
  if (url.password !== undefined) return url.password
  if (url.passfile !== undefined) return passwordIn(url.passfile, url)
  const usual = join(homedir(), '.pgpass')
  return statSync(usual, { throwIfNoEntry: false })?.isFile() ? passwordIn(usual, url) : undefined
}

/** Others could read what is in it. */
const OTHERS = 0o077

/** A file of libpq: a line of host:port:database:user:password for each server. */
function passwordIn(path: string, { host, port, database, user }: StoreUrl): string | undefined {
  const text = readSecret(path, 'passfile')
  if (process.platform !== 'win32' && (statSync(path).mode & OTHERS) !== 0) {
    throw storeError('denied', `The passfile ${path} can be read by others. Use: chmod 600 ${path}`)
  }
  const wanted = [host, String(port), database, user]
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('#')) continue
    const fields = [...line.matchAll(/(?:^|:)((?:\\.|[^:\\])*)/g)]
      .map(([, field = '']) => field.replace(/\\(.)/g, '$1'))
    const password = fields[wanted.length]
    const matches = wanted.every((value, index) => fields[index] === '*' || fields[index] === value)
    if (matches && password !== undefined && password !== '') return password
  }
  return undefined
}

function readSecret(path: string, word: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const why = errorCode(error) ?? messageOf(error)
    throw storeError('denied', `The ${word} ${path} of the store cannot be read (${why}). Correct the path or its rights.`)
  }
}

/** What TLS needs, with the meaning that libpq gives to the modes. Throws StoreUnavailable. */
export function tlsOptions(url: StoreUrl): ConnectionOptions | false {
  if (url.sslmode === 'disable') return false
  const ca = url.sslrootcert === undefined || url.sslrootcert === 'system' ? undefined
    : readSecret(url.sslrootcert, 'sslrootcert')
  const verifies = url.sslmode !== 'require' || ca !== undefined
  return {
    ...(ca !== undefined && { ca }),
    ...(url.sslcert !== undefined && { cert: readSecret(url.sslcert, 'sslcert') }),
    ...(url.sslkey !== undefined && { key: readSecret(url.sslkey, 'sslkey') }),
    rejectUnauthorized: verifies,
    // The name of the server counts with verify-full only.
    checkServerIdentity: url.sslmode === 'verify-full' ? checkServerIdentity : () => undefined,
  }
}
