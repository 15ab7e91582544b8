import { isIP } from 'node:net'
import { isAbsolute, resolve } from 'node:path'
import type { OpenapiConfig, ResolvedConfig } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { type Entries, entriesOf, type Entry, type EntryKind, findSecretFault, sha512 } from '../connected/entries.ts'

/** A usable document of the configuration. Its identity covers all settings except the timeout and `enabled`. */
export type DocumentEntry = Entry<OpenapiConfig>

const DOCUMENTS: EntryKind<OpenapiConfig, DocumentEntry> = {
  key: 'openapi', noun: 'document',
  read: ({ openapi }) => openapi,
  make: (entry) => {
    const { enabled: _, timeoutMs: _ms, ...said } = entry.config
    return { ...entry, identity: sha512(canonicalJson(said as unknown as Json)) }
  },
  findFault({ baseUrl, auth }) {
    if (baseUrl !== undefined) return findSecretFault(baseUrl, auth !== undefined) ?? findBaseFault(baseUrl)
    // Whoever writes the document could have the secret sent to any place.
    return auth === undefined ? undefined : 'says how requests are authorised and not where they go; name the place in "baseUrl"'
  },
}

export const documentEntries = (config: Pick<ResolvedConfig, 'layers'>): Entries<DocumentEntry> => entriesOf(config, DOCUMENTS)

const findBaseFault = (url: string): string | undefined =>
  /[?#]/.test(url) ? 'has a "baseUrl" with a query or a fragment; leave it out' : undefined

export interface DocumentPlace {
  readonly path: string
  /** The folder that must contain the file after links are resolved. undefined allows any file. */
  readonly within: string | undefined
}

/**
 * Resolves the path of a document. A project document lies in the project. A path of the user is relative to the home folder,
 * never to the workspace, which may be an untrusted project.
 */
export function placeOf({ layer, config: { document } }: DocumentEntry, workspace: string, home: string): DocumentPlace {
  if (layer === 'project') return { path: resolve(workspace, document), within: workspace }
  return { path: isAbsolute(document) ? document : resolve(home, document), within: undefined }
}

/** Where the operations of a document are reached. */
export interface BaseUrl {
  /** Without a slash at its end. */
  readonly href: string
  /** The one place that its tools may reach, as a manifest names it. */
  readonly host: string
}

export type BaseVerdict = { readonly ok: true; readonly base: BaseUrl } | { readonly ok: false; readonly message: string }

/**
 * The base URL of the configuration, else of the document. A document may name a host; the address policy applies to it as to any
 * other. It may not name an IP address or localhost: declared addresses are allowed even if private, so only the configuration
 * may declare one.
 */
export function baseUrlOf(configured: string | undefined, server: string | null): BaseVerdict {
  if (configured !== undefined) return { ok: true, base: baseOf(new URL(configured)) }
  const cure = 'say in "baseUrl" where its operations are reached'
  const url = server === null ? null : URL.parse(server)
  if (url === null) return refused(`names no server by a whole URL; ${cure}`)
  if (!PORTS.has(url.protocol)) return refused(`names a server that is not reached over http or https; ${cure}`)
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    return refused(`names a server by more than its host and path; ${cure}`)
  }
  const name = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost') || !name.includes('.')) {
    return refused(`names a server by an address, or by a name of this machine or network; ${cure} if that is meant`)
  }
  return { ok: true, base: baseOf(url) }
}

const PORTS: ReadonlyMap<string, string> = new Map([['https:', '443'], ['http:', '80']])

function baseOf(url: URL): BaseUrl {
  const { protocol, hostname, port, origin, pathname } = url
  return { href: origin + pathname.replace(/(?<!\/)\/+$/, ''), host: `${hostname.replace(/\.$/, '')}:${port || PORTS.get(protocol)!}` }
}

const refused = (message: string): BaseVerdict => ({ ok: false, message })
