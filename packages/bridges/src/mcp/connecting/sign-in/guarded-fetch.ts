import { request as requestPlain, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as requestSecure } from 'node:https'
import { isIP } from 'node:net'
import { addressKind, type AddressKind } from '@bulkhead/kit/addresses'
import { isThisMachine } from '@bulkhead/kit/hosts'
import type { FetchLike } from '@modelcontextprotocol/client'
import { checkedLookup, readBody, systemLookup, type Lookup } from '../../../connected/guarded-request.ts'

const MAX_BYTES = 1024 * 1024
const TIMEOUT_MS = 30_000
/** Networks that an address may share with the server. Metadata services are in none of them. */
const NEAR: ReadonlySet<AddressKind> = new Set(['loopback', 'private', 'shared'])

/**
 * `fetch` for addresses that an MCP server or its authorization server names. It reaches public addresses, and those of
 * the network that the configured server is in. Names are resolved once per request and the connection uses the checked
 * addresses, so a name cannot change in between. Follows no redirects. As with `fetch`, every failure is a TypeError:
 * the SDK takes other errors for a missing document and would try the next address.
 */
export function guardedFetch(server: URL, signal?: AbortSignal, lookup: Lookup = systemLookup): FetchLike {
  let allowed: Promise<ReadonlySet<AddressKind>> | undefined
  return async (to, init = {}) => {
    const url = new URL(to)
    const fault = addressFault(url, server)
    if (fault !== undefined) throw new TypeError(`${shown(url)} ${fault}.`)
    allowed ??= networksOf(server, lookup)
    const kinds = await allowed
    const host = bareHost(url)
    if (isIP(host) !== 0) requireAllowed(host, host, kinds)
    const body = init.body === undefined || init.body === null ? undefined : String(init.body)
    const options: RequestOptions = {
      method: init.method ?? 'GET', agent: false,
      lookup: checkedLookup((address, name) => requireAllowed(address, name, kinds), lookup),
      headers: {
        ...Object.fromEntries(new Headers(init.headers)),
        ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
      },
      signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...[signal ?? [], init.signal ?? []].flat()]),
    }
    try {
      return await send(url, options, body)
    } catch (error) {
      throw error instanceof TypeError ? error : new TypeError(`${shown(url)} cannot be reached.`, { cause: error })
    }
  }
}

/** Why an address may not be used, as the end of a sentence. Resolves no names. */
export function addressFault(url: URL, server: URL): string | undefined {
  const { protocol, username, password } = url
  if (username !== '' || password !== '') return 'contains a user name or password'
  if (protocol === 'https:') return undefined
  if (protocol !== 'http:') return 'is neither an http nor an https address'
  return isThisMachine(url) && isThisMachine(server) ? undefined : 'does not use https'
}

const shown = ({ origin, pathname }: URL): string => `${origin}${pathname}`.slice(0, 300)

const bareHost = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')

async function networksOf(server: URL, lookup: Lookup): Promise<ReadonlySet<AddressKind>> {
  const host = bareHost(server)
  const addresses = isIP(host) === 0 ? await lookup(host).catch(() => []) : [host]
  return new Set(['public', ...addresses.map((address) => addressKind(address)).filter((kind) => NEAR.has(kind))])
}

function requireAllowed(address: string, host: string, allowed: ReadonlySet<AddressKind>): void {
  const kind = addressKind(address)
  if (!allowed.has(kind)) throw new TypeError(`The host ${host} has an address that is not public (${kind}).`)
}

function send(url: URL, options: RequestOptions, body: string | undefined): Promise<Response> {
  return new Promise((resolveWith, reject) => {
    const request = url.protocol === 'https:'
      ? requestSecure(url, { ...options, rejectUnauthorized: true })
      : requestPlain(url, options)
    request.on('error', reject)
    request.on('response', (response) => void readResponse(response).then(resolveWith, (error: unknown) => {
      reject(error)
      request.destroy()
    }))
    request.end(body)
  })
}

/** Statuses whose `Response` must not have a body. */
const EMPTY: ReadonlySet<number> = new Set([204, 205, 304])

async function readResponse(incoming: IncomingMessage): Promise<Response> {
  const body = await readBody(
    incoming, MAX_BYTES, () => new TypeError(`The response has more than ${MAX_BYTES} bytes.`),
  )
  const status = incoming.statusCode ?? 500
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming.headersDistinct)) headers.set(name, value?.join(', ') ?? '')
  return new Response(EMPTY.has(status) ? null : body, { status, headers })
}
