import type { ServerResponse } from 'node:http'
import type { Refusal } from './http-guard.ts'

const WELL_KNOWN = '/.well-known/oauth-protected-resource'

export interface ProtectedResourceOptions {
  readonly scheme: 'http' | 'https'
  /** The path where tools are served. */
  readonly path: string
  readonly name: string
  readonly issuer: string | undefined
}

/**
 * Tells clients which authorization server issues tokens for this server (RFC 9728). Addresses contain the `Host` of the
 * request, because clients compare them with the address that they use. Contract: the `Host` was checked.
 */
export class ProtectedResource {
  readonly #options: ProtectedResourceOptions

  constructor(options: ProtectedResourceOptions) {
    this.#options = options
  }

  /** Answers a request for the metadata. False for other requests, and without an issuer. */
  answer(res: ServerResponse, path: string | undefined): boolean {
    const { path: served, name, issuer } = this.#options
    const isAsked = path === WELL_KNOWN || path === WELL_KNOWN + served
    if (issuer === undefined || !isAsked || res.req.method !== 'GET') return false
    const metadata = {
      resource: this.#at(res, served), authorization_servers: [issuer], bearer_methods_supported: ['header'],
      resource_name: name,
    }
    res.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
    res.end(JSON.stringify(metadata))
    return true
  }

  /** The refusal of a request without a valid token. */
  unauthorized(res: ServerResponse): Refusal {
    const { path, issuer } = this.#options
    const where = issuer === undefined ? '' : `, resource_metadata="${this.#at(res, WELL_KNOWN + path)}"`
    return {
      status: 401, message: 'Send the header "Authorization: Bearer TOKEN" with a valid token of this server.',
      headers: { 'WWW-Authenticate': `Bearer realm="bulkhead"${where}` },
    }
  }

  #at({ req }: ServerResponse, path: string): string {
    return new URL(path, `${this.#options.scheme}://${req.headers.host}`).href
  }
}

/** The issuer as given, without a query or a fragment. Throws TypeError for anything else. */
export function checkIssuer(issuer: string): void {
  const url = URL.parse(issuer)
  const isGood = url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === ''
  if (!isGood) throw new TypeError('`issuer` must be an http or https URL without a query or a fragment.')
}
