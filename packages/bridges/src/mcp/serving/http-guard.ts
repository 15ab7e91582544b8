import { createHash, timingSafeEqual, X509Certificate } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { isThisMachine } from '@bulkhead/kit/hosts'
import type { TokenClient } from './served-client.ts'

type Sdk = typeof import('@modelcontextprotocol/server')

/** Finds the client of a token. undefined: the token is not valid. */
export type VerifyToken = (token: string) => TokenClient | undefined | Promise<TokenClient | undefined>

export interface GuardOptions {
  /** The SDK, which is imported only where tools are served. */
  readonly sdk: Sdk
  /** The address or name that the server listens on. */
  readonly host: string
  readonly tokens: readonly string[]
  readonly verify?: VerifyToken | undefined
  readonly cert?: string | Buffer | undefined
}

/** A request that is not served. */
export interface Refusal {
  readonly status: number
  readonly message: string
  /** The code of the JSON-RPC error. */
  readonly code?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** A client that has presented a token. */
export interface KnownClient extends TokenClient {
  /** The same for all requests of this client. */
  readonly key: string
}

/** Decides from the headers whether a request is served. Nothing of the body has been read. */
export class HttpGuard {
  readonly #sdk: Sdk
  readonly #names: readonly string[]
  readonly #isLocal: boolean
  readonly #certificate: X509Certificate | undefined
  readonly #digests: readonly Buffer[]
  readonly #verify: VerifyToken

  constructor({ sdk, host, tokens, verify = () => undefined, cert }: GuardOptions) {
    this.#sdk = sdk
    this.#names = [...sdk.localhostAllowedHostnames(), bracketed(host)]
    this.#isLocal = isLocal(host)
    this.#certificate = cert === undefined ? undefined : new X509Certificate(cert)
    this.#digests = tokens.map(digestOf)
    this.#verify = verify
  }

  /** Why a request is refused whatever its token is. */
  refusalOf({ host, origin }: IncomingHttpHeaders): Refusal | undefined {
    // A web page can make a browser send requests here under a name of its own: DNS rebinding.
    const named = this.#sdk.validateHostHeader(host, this.#allowed(host, true))
    if (!named.ok) return { status: 403, message: named.message }
    const from = this.#sdk.validateOriginHeader(origin, this.#allowed(origin, false))
    return from.ok ? undefined : { status: 403, message: from.message }
  }

  /** The client of the token that a request carries. undefined: it has no valid token. */
  async clientOf({ authorization }: IncomingHttpHeaders): Promise<KnownClient | undefined> {
    const [, token] = /^bearer +(\S+)$/i.exec(authorization ?? '') ?? []
    if (token === undefined) return undefined
    const number = this.#numberOf(token)
    // Replicas may have other tokens in this place.
    if (number >= 0) return { key: `token ${this.#digests[number]!.toString('hex')}`, name: `token ${number + 1}` }
    const client = await this.#verify(token)
    return client && { ...client, key: JSON.stringify([client.name, client.role ?? null]) }
  }

  /** Rebinding needs a name, so beyond loopback a `Host` may be any address. An `Origin` may not. */
  #allowed(given: string | undefined, isHost: boolean): string[] {
    const name = hostnameOf(given)
    const isAllowed = name !== undefined && !this.#isLocal
      && (isIP(name.replace(/^\[|\]$/g, '')) > 0 ? isHost : this.#certificate?.checkHost(name) !== undefined)
    return isAllowed ? [...this.#names, name] : [...this.#names]
  }

  /** Compares with every token in constant time. -1: it is none of them. */
  #numberOf(token: string): number {
    const digest = digestOf(token)
    return this.#digests.reduce((found, one, index) => timingSafeEqual(one, digest) ? index : found, -1)
  }
}

const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest()

/** The name in a `Host` or `Origin` header, without the port. */
function hostnameOf(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  return URL.parse(header.includes('://') ? header : `http://${header}`)?.hostname
}

/** Whether only this machine can reach a server that listens there. */
export const isLocal = (host: string): boolean => isThisMachine({ hostname: bracketed(host) })

/** An address of the sixth version, as URLs and headers write it. */
export const bracketed = (host: string): string => isIP(host) === 6 ? `[${host}]` : host
