import { isIP } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { tenantRole } from './tenant.ts'

/** Which server a URL names, and how to reach it. A password is never part of an error or a description. */
export interface StoreUrl {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
  readonly password: string | undefined
  /** The schema of the tables. */
  readonly schema: string
  /** The name of this host in the audit. undefined: that of the machine. */
  readonly hostName: string | undefined
  readonly applicationName: string
  readonly options: string | undefined
  readonly sslmode: SslMode
  /** Files. */
  readonly sslrootcert: string | undefined
  readonly sslcert: string | undefined
  readonly sslkey: string | undefined
  readonly passfile: string | undefined
  readonly passwordfile: string | undefined
  /** The folder with a password file for each tenant. */
  readonly tenants: string | undefined
  /** Without password and parameters, for people. */
  readonly shown: string
}

const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const
export type SslMode = (typeof SSL_MODES)[number]

const WORDS = [
  'host', 'port', 'user', 'password', 'dbname', 'schema', 'name', 'application_name', 'options', 'sslmode',
  'sslrootcert', 'sslcert', 'sslkey', 'passfile', 'passwordfile', 'tenants',
] as const
const known: ReadonlySet<string> = new Set(WORDS)

const SCHEMA = /^[a-z_][a-z0-9_]{0,62}$/
const HOST_NAME = /^[\x21-\x7e]{1,255}$/
const HIGHEST_PORT = 65_535
const NO_HOST = 'no-host.invalid'

const isPostgresUrl = (text: string): boolean => /^postgres(?:ql)?:/i.test(text)

const invalid = (what: string): BulkheadError =>
  // The URL may contain a password, so no part of it is repeated.
  new BulkheadError('ConfigInvalid', `The URL of the store ${what}`)

/** Reads the words of libpq. Throws ConfigInvalid. */
export function readStoreUrl(text: string, env: Readonly<Record<string, string | undefined>> = process.env): StoreUrl {
  const url = parsed(text)
  const given = new Map(url.searchParams)
  const unknown = [...given.keys()].find((word) => !known.has(word))
  if (unknown !== undefined) {
    // After a question mark that was not encoded, it may be the rest of a password.
    const isName = /^\w{1,40}$/.test(unknown) && given.get(unknown) !== '' && !url.search.includes('@')
    const name = isName ? ` "${unknown}"` : ''
    throw invalid(`has an unknown parameter${name}. Known are ${WORDS.join(', ')}.`)
  }
  const word = (name: (typeof WORDS)[number]): string | undefined => given.get(name) || undefined
  const host = word('host') ?? (decoded(url.hostname.replace(NO_HOST, '')).replace(/^\[(.*)\]$/, '$1') || env['PGHOST'] || 'localhost')
  if (host.includes(',')) throw invalid('names several hosts. Use one that follows the primary server.')
  const port = Number(word('port') ?? (url.port || env['PGPORT'] || 5432))
  if (!Number.isInteger(port) || port < 1 || port > HIGHEST_PORT) throw invalid('has an invalid port.')
  const user = word('user') ?? (decoded(url.username) || env['PGUSER'] || accountName(env))
  const database = word('dbname') ?? (decoded(url.pathname.slice(1)) || env['PGDATABASE'] || user)
  const schema = word('schema') ?? 'bulkhead'
  if (!SCHEMA.test(schema)) {
    throw invalid('has an invalid schema. Use a lower-case letter, then letters, digits and underscores.')
  }
  const hostName = word('name')
  if (hostName !== undefined && !HOST_NAME.test(hostName)) throw invalid('has an invalid name.')
  return {
    host, port, user, database, schema, hostName,
    password: word('password') ?? (decoded(url.password) || env['PGPASSWORD'] || undefined),
    applicationName: word('application_name') ?? 'bulkhead', options: word('options'),
    sslmode: sslModeOf(word('sslmode') ?? env['PGSSLMODE'], host),
    sslrootcert: word('sslrootcert') ?? (env['PGSSLROOTCERT'] || undefined),
    sslcert: word('sslcert') ?? (env['PGSSLCERT'] || undefined),
    sslkey: word('sslkey') ?? (env['PGSSLKEY'] || undefined),
    passfile: word('passfile') ?? (env['PGPASSFILE'] || undefined), passwordfile: word('passwordfile'),
    tenants: word('tenants'),
    shown: shownUrl(user, host, port, database, schema),
  }
}

/**
 * The same server, as the role of a tenant. Its password is in the file with its name in `folder`, unless the URL names
 * another folder. Throws ConfigInvalid.
 */
export function asTenant(url: StoreUrl, tenant: string, folder: string): StoreUrl {
  const user = tenantRole(url.schema, tenant)
  return {
    ...url, user, password: undefined, passfile: undefined, passwordfile: join(url.tenants ?? folder, tenant),
    shown: shownUrl(user, url.host, url.port, url.database, url.schema),
  }
}

/** The URL for hosts of a tenant: what the given one says of the server, with the password in a file. */
export function tenantUrl(text: string, role: string, passwordFile: string): string {
  const url = parsed(text)
  for (const word of ['user', 'password', 'passfile', 'tenants', 'sslcert', 'sslkey']) url.searchParams.delete(word)
  url.searchParams.set('passwordfile', passwordFile)
  url.username = role
  url.password = ''
  return url.href.replace(NO_HOST, '').replaceAll('%2F', '/')
}

function parsed(text: string): URL {
  if (!isPostgresUrl(text)) throw invalid('must begin with postgres:// or postgresql://.')
  const url = URL.parse(hostful(text))
  if (!url) throw invalid('cannot be read. Use postgres://USER@HOST:PORT/DATABASE, and write special characters of a password as %XX.')
  // The user would be taken for the host, and the password for the database, which is shown.
  if (url.pathname.includes('@') || url.hash !== '') {
    throw invalid('has a special character that is not encoded. In a password, write / as %2F, ? as %3F, # as %23 and @ as %40.')
  }
  return url
}

/** libpq lets a host be named by a parameter. A URL of the platform needs one after a user name. */
const hostful = (text: string): string => text.replace(/^(postgres(?:ql)?:\/\/[^/?#]*@)(?=[/?#]|$)/i, `$1${NO_HOST}`)

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw invalid('has a percent sign that is not part of %XX. Write it as %25.')
  }
}

function sslModeOf(given: string | undefined, host: string): SslMode {
  if (given === undefined) return isLocal(host) ? 'disable' : 'verify-full'
  const mode = SSL_MODES.find((one) => one === given)
  if (mode !== undefined) return mode
  throw invalid(`has an sslmode that does not protect, or is unknown. Use ${SSL_MODES.join(', ')}.`)
}

/** A socket, or this machine. */
const isLocal = (host: string): boolean =>
  host.startsWith('/') || host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))

function accountName(env: Readonly<Record<string, string | undefined>>): string {
  try {
    return userInfo().username
  } catch {
    // The user of a container may have no name.
    return env['USER'] ?? 'postgres'
  }
}

function shownUrl(user: string, host: string, port: number, database: string, schema: string): string {
  const place = host.startsWith('/') ? `/${database}?host=${host}` : `${host.includes(':') ? `[${host}]` : host}:${port}/${database}`
  const suffix = schema === 'bulkhead' ? '' : `${place.includes('?') ? '&' : '?'}schema=${schema}`
  return `postgres://${user}@${place}${suffix}`
}
