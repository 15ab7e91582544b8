import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import type { HttpServeOptions } from '@bulkhead/bridges/mcp'
import { messageOf } from '@bulkhead/kit/error-message'
import { isThisMachine } from '@bulkhead/kit/hosts'
import { type CommandOptions, UsageError, type ValuesOf } from '../command.ts'

const PORT = 8765
const TOKEN_VARIABLE = 'BULKHEAD_MCP_TOKEN'

/** Options of `mcp` for a server over HTTP. */
export const LISTEN_OPTIONS = {
  http: { type: 'boolean', text: 'serve over HTTP instead of standard input and output' },
  port: {
    type: 'string', value: 'N', whole: { least: 0, most: 65_535 },
    text: `with --http: the port (default: ${PORT}; 0 is any free port)\n`
      + 'with login: the port of the redirect (default: any)',
  },
  host: {
    type: 'string', value: 'ADDRESS',
    text: 'with --http: the address to listen on (default: 127.0.0.1)\nan address that other machines can reach needs '
      + '--cert and --key, or --insecure',
  },
  cert: { type: 'string', value: 'FILE', completes: 'file', text: 'with --http: a certificate (PEM)' },
  key: { type: 'string', value: 'FILE', completes: 'file', text: 'with --http: the key of the certificate (PEM)' },
  insecure: { type: 'boolean', text: 'with --http and --host: allow clear text on the network' },
  'token-file': {
    type: 'string', value: 'FILE', completes: 'file',
    text: `with --http: a file with the token that clients send
(default: ${TOKEN_VARIABLE}, else the tokens of "mcp token", else a new one, which is printed)`,
  },
} as const satisfies CommandOptions

export interface ListenOptions extends Pick<HttpServeOptions, 'host' | 'port' | 'tls' | 'insecure'> {
  /** A token of the operator, which stays the same after a restart. */
  readonly token?: string
}

/** Returns undefined for a server on standard input and output. */
export async function listenOptions(values: ValuesOf<typeof LISTEN_OPTIONS>): Promise<ListenOptions | undefined> {
  const { http, port = PORT, host, cert, key, insecure } = values
  if (!http) {
    const needless = (['port', 'host', 'cert', 'key', 'insecure', 'token-file'] as const)
      .find((name) => values[name] !== undefined)
    if (needless !== undefined) throw new UsageError(`--${needless} requires --http.`)
    return undefined
  }
  const address = await addressOptions({ host, cert, key, insecure })
  const token = await givenToken(values['token-file'])
  return { port, ...address, ...(token === undefined ? {} : { token }) }
}

/** Where to listen. Clear text beyond this machine must be allowed. Throws UsageError. */
export async function addressOptions(
  { host, cert, key, insecure }: Pick<ValuesOf<typeof LISTEN_OPTIONS>, 'host' | 'cert' | 'key' | 'insecure'>,
): Promise<Pick<ListenOptions, 'host' | 'tls' | 'insecure'>> {
  if ((cert === undefined) !== (key === undefined)) throw new UsageError('Use --cert and --key together.')
  const isOpen = cert === undefined && insecure !== true && host !== undefined && !isThisMachine(hostnameOf(host))
  if (isOpen) throw new UsageError(`Other machines can reach ${host}. Add --cert and --key, or --insecure.`)
  const tls = cert === undefined || key === undefined
    ? {} : { tls: { cert: await readGiven(cert), key: await readGiven(key) } }
  return { ...tls, ...(host === undefined ? {} : { host }), ...(insecure ? { insecure } : {}) }
}

/** The variable is removed, so that no tool or server gets it. */
async function givenToken(file: string | undefined): Promise<string | undefined> {
  const { [TOKEN_VARIABLE]: variable } = process.env
  delete process.env[TOKEN_VARIABLE]
  const token = file === undefined ? variable || undefined : (await readGiven(file)).toString('utf8').trim()
  const { isToken } = await import('@bulkhead/bridges/mcp')
  if (token === undefined || isToken(token)) return token
  const what = file === undefined ? `The variable ${TOKEN_VARIABLE}` : file
  throw new UsageError(`${what} must contain one token of 16 or more characters without spaces.`)
}

/** An address of the sixth version has brackets in URLs. */
const hostnameOf = (host: string) => ({ hostname: isIP(host) === 6 ? `[${host}]` : host })

async function readGiven(file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${messageOf(error)}`)
  }
}

/** Why the server could not start, with what to do. */
export function listenFault(error: unknown, { host = '127.0.0.1', port }: ListenOptions): unknown {
  const { code = '' } = error as NodeJS.ErrnoException
  const place = `${host}:${port}`
  if (code === 'EADDRINUSE') return new UsageError(`${place} is in use. Choose another port with --port.`)
  if (code === 'EACCES') return new UsageError(`${place} requires more rights. Choose a port above 1023 with --port.`)
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new UsageError(`"${host}" is not an address of this machine. Correct --host.`)
  }
  if (code.startsWith('ERR_OSSL')) return new UsageError(`--cert and --key do not work: ${messageOf(error)}`)
  return error
}
