import { isIP } from 'node:net'
import { BulkheadError } from '@bulkhead/contract'
import { addressKind, canonicalAddress, type AddressKind } from '@bulkhead/kit/addresses'
import { coversName, coversPort, readHostPattern, type HostPattern } from '@bulkhead/kit/hosts'
import { Denial, type Remedies } from '../model/capability.ts'

export const URL_CHARS = 8_192
/** Characters that are easy to overlook, or that another parser reads differently. */
const AMBIGUOUS = /[\s\\\p{Cc}\p{Cf}\p{Cs}]/u
const WRITTEN = /^https?:\/\/[^/]/i
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/
const NAME_CHARS = 253

/** A URL that the grant covers, in the one form that is matched, resolved, connected to and sent. */
export interface Target {
  /** Normalized, without a fragment. */
  readonly url: URL
  /** A name in lower-case ASCII without a final dot, or an address without brackets. */
  readonly host: string
  readonly port: number
}

/**
 * Checks a URL as a tool wrote it. Throws InputInvalid if it cannot be parsed, CapabilityDenied if it is not allowed.
 */
export function checkUrl(text: string, scope: HostAllowList): Target {
  if (text.length > URL_CHARS) throw invalid(`is longer than ${URL_CHARS} characters`)
  if (AMBIGUOUS.test(text)) throw invalid('contains white space, control characters or backslashes; encode them')
  const url = URL.parse(text)
  if (url === null) throw invalid('cannot be parsed')
  const target = checkParsedUrl(url, scope)
  if (!WRITTEN.test(text)) throw invalid('does not name its host after two slashes')
  return target
}

/** Checks a parsed URL. Use only the returned target from then on. */
export function checkParsedUrl(parsed: URL, scope: HostAllowList): Target {
  const url = new URL(parsed)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw denied(`The scheme ${url.protocol} is not supported. Use http or https.`, url.host)
  }
  if (url.username !== '' || url.password !== '') {
    throw denied('The URL contains credentials. Send them in the authorization header.', url.hostname)
  }
  url.hash = ''
  const bare = url.hostname.replace(/^\[|\]$/g, '')
  const host = bare.replace(/\.$/, '')
  if (isIP(host) === 0) {
    const isName = host.length <= NAME_CHARS && host.split('.').every((label) => LABEL.test(label))
    if (!isName) throw invalid('has an invalid host name')
    url.hostname = host
  }
  const port = portOf(url)
  if (!scope.covers(host, port)) {
    throw new Denial(`The tool may not reach the host ${authority(host, port)}.`, NOT_COVERED, { power: 'net', host })
  }
  if (isIP(host) !== 0) requireAllowedAddress(host, host, port, scope)
  return { url, host, port }
}

export const portOf = ({ protocol, port }: { readonly protocol: string; readonly port: string }): number =>
  port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)

/**
 * Throws CapabilityDenied for an address that the allow list does not admit. The message does not disclose the address
 * of a name.
 */
export function requireAllowedAddress(address: string, host: string, port: number, scope: HostAllowList): void {
  const kind = scope.refuses(address, host, port)
  if (kind === undefined) return
  if (kind === 'public') {
    throw denied(`The host ${authority(host, port)} does not resolve to this machine. Use another host.`, host)
  }
  const name = authority(host, port)
  const what = isIP(host) === 0 ? `The host ${name} has an address` : `${name} is an address`
  throw new Denial(`${what} that is not public (${kind}).`, NOT_PUBLIC, { power: 'net', host })
}

const NOT_COVERED: Remedies = {
  author: 'Declare it in `requires.net.hosts`; without a port it means 80 and 443.',
  caller: 'Use another host or port, or ask the operator to allow this one.',
}
const NOT_PUBLIC: Remedies = {
  author: 'To allow it, declare the address with its port in `requires.net.hosts`.',
  caller: 'Use a public host, or ask the operator to allow this address with its port.',
}

export const hostname = (host: string): string => host.includes(':') ? `[${host}]` : host
export const authority = (host: string, port: number): string => `${hostname(host)}:${port}`

const invalid = (what: string): BulkheadError => new BulkheadError('InputInvalid', `The URL ${what}.`)

const denied = (message: string, host: string): BulkheadError =>
  new BulkheadError('CapabilityDenied', message, { data: { power: 'net', host } })

/** Never reachable, even when listed. 0.0.0.0 would connect to this machine. */
const NEVER: ReadonlySet<AddressKind> = new Set(['unspecified', 'multicast', 'broadcast', 'unreadable'])

interface GrantedHost extends HostPattern {
  /** Set if the host is an address. */
  readonly address: string | undefined
}

/**
 * The hosts of a grant. It is checked twice: for the name, then for each address the name resolves to. A listed name
 * does not admit an address that is not public, because the owner of the name chooses what it resolves to. Such an
 * address must be listed too. The exception is `localhost`, which admits loopback.
 */
export class HostAllowList {
  /** The grant and each of its ceilings. A host must be in all of them. */
  readonly #layers: readonly (readonly GrantedHost[])[]
  readonly #isDenied: ((host: string) => boolean) | undefined

  /** `isDenied`: whether rules deny a host with its port. */
  constructor(
    hosts: readonly string[], ceilings: readonly (readonly string[])[] = [], isDenied?: (host: string) => boolean,
  ) {
    this.#isDenied = isDenied
    this.#layers = [hosts, ...ceilings].map((layer) => layer.map(readHostPattern)
      .filter((pattern) => pattern !== undefined)
      .map((pattern) => ({ ...pattern, address: canonicalAddress(pattern.host.replace(/^\[(.*)\]$/, '$1')) })))
  }

  /** `host` is a name in lower case, or an address without brackets. */
  covers(host: string, port: number): boolean {
    const address = canonicalAddress(host)
    if (this.#isDenied?.(authority(host, port)) || this.#isDenied?.(hostname(host))) return false
    return this.#layers.every((patterns) => patterns.some((pattern) => coversPort(pattern, port)
      && (address === undefined ? coversName(pattern, host) : pattern.address === address)))
  }

  /** The kind of the address if the host may not be reached at it; undefined if it may. */
  refuses(address: string, host: string, port: number): AddressKind | undefined {
    const kind = addressKind(address)
    // localhost must not resolve to a public address: secrets may be sent to it unencrypted.
    if (kind === 'public' && !isLocalName(host)) return undefined
    if (NEVER.has(kind)) return kind
    const canonical = canonicalAddress(address)
    const local = kind === 'loopback' && isLocalName(host)
    const named = this.#layers.every((patterns) => patterns.some((pattern) =>
      coversPort(pattern, port) && (pattern.address === canonical || (local && pattern.host === host))))
    return named ? undefined : kind
  }
}

export const isLocalName = (host: string): boolean => host === 'localhost' || host.endsWith('.localhost')
