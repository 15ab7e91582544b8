import { isIP } from 'node:net'
import { BulkheadError } from '@bulkhead/contract'
import { Denial, type Cures } from '../model/denial.ts'
import type { HostScope } from './host-allow-list.ts'

export const URL_CHARS = 8_192
/** Whatever a reader may overlook or a second parser may read otherwise. */
const ODD = /[\s\\\p{Cc}\p{Cf}\p{Cs}]/u
const WRITTEN = /^https?:\/\/[^/]/i
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/
const NAME_CHARS = 253

/** A place the grant covers, in the one form that is matched, resolved, dialled and sent. */
export interface Target {
  /** Normalised, without a fragment. */
  readonly url: URL
  /** A name in lower case ASCII without a final dot, or an address without brackets. */
  readonly host: string
  readonly port: number
}

/** Judges a URL as a tool wrote it. Throws InputInvalid when it cannot be read, CapabilityDenied when it may not be reached. */
export function judgeUrl(text: string, scope: HostScope): Target {
  if (text.length > URL_CHARS) throw invalid(`is longer than ${URL_CHARS} characters`)
  if (ODD.test(text)) throw invalid('has white space, control characters or back-slashes in it; encode them')
  const url = URL.parse(text)
  if (url === null) throw invalid('cannot be read')
  const target = judgeParsed(url, scope)
  if (!WRITTEN.test(text)) throw invalid('does not name its host after two slashes')
  return target
}

/** Judges a URL that was read already; only what comes out of here is used from then on. */
export function judgeParsed(parsed: URL, scope: HostScope): Target {
  const url = new URL(parsed)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw denied(`The scheme ${url.protocol} cannot be fetched. Use http or https.`, url.host)
  }
  if (url.username !== '' || url.password !== '') {
    throw denied('The URL has credentials before its host. Send them in the authorization header.', url.hostname)
  }
  url.hash = ''
  const bare = url.hostname.replace(/^\[|\]$/g, '')
  const host = bare.replace(/\.$/, '')
  if (isIP(host) === 0) {
    const isName = host.length <= NAME_CHARS && host.split('.').every((label) => LABEL.test(label))
    if (!isName) throw invalid('has a host that is not a name')
    url.hostname = host
  }
  const port = portOf(url)
  if (!scope.covers(host, port)) {
    throw new Denial(`The host ${place(host, port)} is not one the tool may reach.`, NOT_COVERED, { power: 'net', host })
  }
  if (isIP(host) !== 0) refuseAddress(host, host, port, scope)
  return { url, host, port }
}

export const portOf = ({ protocol, port }: { readonly protocol: string; readonly port: string }): number =>
  port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)

/** Throws CapabilityDenied for an address of a host that the grant does not admit. Which one a name has stays untold. */
export function refuseAddress(address: string, host: string, port: number, scope: HostScope): void {
  const kind = scope.refuses(address, host, port)
  if (kind === undefined) return
  if (kind === 'public') throw denied(`The host ${place(host, port)} has an address that is not of this machine. Use another host.`, host)
  const what = isIP(host) === 0 ? `The host ${place(host, port)} has an address` : `${place(host, port)} is an address`
  throw new Denial(`${what} that is not public (${kind}).`, NOT_PUBLIC, { power: 'net', host })
}

const NOT_COVERED: Cures = {
  author: 'Declare it in `requires.net.hosts`; without a port it means 80 and 443.',
  caller: 'Use another host or port, or ask the operator to allow this one.',
}
const NOT_PUBLIC: Cures = {
  author: 'Declare the very address with its port in `requires.net.hosts` if that is meant.',
  caller: 'Use a host that is public, or ask the operator to allow this very address with its port.',
}

const place = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`

const invalid = (what: string): BulkheadError => new BulkheadError('InputInvalid', `The URL ${what}.`)

const denied = (message: string, host: string): BulkheadError =>
  new BulkheadError('CapabilityDenied', message, { data: { power: 'net', host } })
