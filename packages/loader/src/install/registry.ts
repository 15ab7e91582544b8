import { BulkheadError } from '@bulkhead/contract'
import { isJsonObject, parseJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import maxSatisfying from 'semver/ranges/max-satisfying.js'
import valid from 'semver/functions/valid.js'
import validRange from 'semver/ranges/valid.js'
import { sha512 } from '../model/digest.ts'
import { checkLink, checkUrl, fetchBytes } from './bounded-fetch.ts'

export interface RegistryOptions {
  /** The base URL of the registry. */
  readonly url: string
  /** Sent to that origin only. */
  readonly token?: string
  /** Instead of a token. */
  readonly authorization?: RegistryAuthorization
  readonly signal?: AbortSignal
  readonly onProgress?: (received: number, total: number | undefined) => void
}

/** Credentials for a part of a server. */
export interface RegistryAuthorization {
  /** The value of the header. */
  readonly header: string
  /** The URL of a folder. The header is sent to addresses below it only. */
  readonly below: string
}

/** One version of a package, as the registry describes it. */
export interface RegistryVersion {
  readonly name: string
  readonly version: string
  readonly tarball: URL
  /** Lower-case hex. */
  readonly sha512: string
  readonly attestations: URL | null
  /** The deprecation message of the publisher. */
  readonly deprecated: string | null
}

const MAX_DOCUMENT_BYTES = 64 * 1024 * 1024
const MAX_ATTESTATION_BYTES = 4 * 1024 * 1024
const DOCUMENT_LIMITS = { maxDepth: 64, maxNodes: 4_000_000, maxChars: MAX_DOCUMENT_BYTES }

/** The base URL of a registry, with a slash at its end. Throws InstallSourceInvalid. */
export function registryUrl(text: string, what = 'the registry'): URL {
  const address = text.endsWith('/') ? text : `${text}/`
  const url = URL.parse(address)
  // `fetch` rejects such a URL, and would show the password in its error.
  if (url && (url.username !== '' || url.password !== '')) {
    const advice = 'Remove it, and configure the credentials of the registry instead'
    throw new BulkheadError('InstallSourceInvalid', `The address of ${what} contains a user name. ${advice}.`)
  }
  return checkUrl(address, what)
}

/** A client for npm registries. A tarball is used only if it matches its digest. */
export class Registry {
  readonly #options: RegistryOptions
  readonly #base: URL
  readonly #authorize: (url: URL) => string | undefined

  constructor(options: RegistryOptions) {
    this.#options = options
    this.#base = registryUrl(options.url)
    const { token } = options
    const bearer = token === undefined ? undefined : { header: `Bearer ${token}`, below: `${this.#base.origin}/` }
    this.#authorize = authorizer(options.authorization ?? bearer)
  }

  /** The newest version for a version, a range or a tag. */
  async resolve(name: string, wanted: string): Promise<RegistryVersion> {
    const document = await this.#document(name)
    const versions = new Map(Object.entries(objectAt(document, 'versions')))
    const tag = objectAt(document, 'dist-tags')[wanted]
    const exact = valid(wanted) ?? (typeof tag === 'string' ? valid(tag) : null)
    const version = exact ?? (validRange(wanted) === null ? null : maxSatisfying([...versions.keys()], wanted))
    const described = version === null ? undefined : versions.get(version)
    if (version === null || !isJsonObject(described)) {
      throw new BulkheadError(
        'InstallSourceInvalid', `The registry has no ${visibleText(name)}@${visibleText(wanted)}.`,
      )
    }
    return readVersion(name, version, described, this.#base)
  }

  /** The versions of a package, and the one that `latest` names. null if the registry has no such package. */
  async published(name: string): Promise<{ readonly versions: ReadonlySet<string>; readonly latest: string | null } | null> {
    const document = await this.#find(name)
    if (document === undefined) return null
    const { latest } = objectAt(document, 'dist-tags')
    return {
      versions: new Set(Object.keys(objectAt(document, 'versions'))), latest: typeof latest === 'string' ? valid(latest) : null,
    }
  }

  /** The tarball, checked against its digest. */
  async tarball(version: RegistryVersion, maxBytes: number): Promise<Uint8Array> {
    const { onProgress } = this.#options
    const bytes = await this.#fetch(version.tarball, maxBytes, {}, onProgress)
    if (sha512(bytes) === version.sha512) return bytes
    const name = `${visibleText(version.name)}@${visibleText(version.version)}`
    throw new BulkheadError('IntegrityFailed', `The tarball of ${name} does not match the digest in the registry.`)
  }

  async attestations(url: URL): Promise<Json> {
    return jsonOf(await this.#fetch(url, MAX_ATTESTATION_BYTES, { accept: 'application/json' }), url)
  }

  async #document(name: string): Promise<JsonObject> {
    const document = await this.#find(name)
    if (document !== undefined) return document
    throw new BulkheadError('InstallSourceInvalid', `The registry has no package "${visibleText(name)}".`)
  }

  /** undefined if the registry does not know the package. */
  async #find(name: string): Promise<JsonObject | undefined> {
    const url = new URL(name.replace('/', '%2f'), this.#base)
    const accept = 'application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8'
    let bytes: Uint8Array
    try {
      bytes = await this.#fetch(url, MAX_DOCUMENT_BYTES, { accept })
    } catch (error) {
      const isUnknown = (BulkheadError.from(error).data as { readonly status?: Json } | undefined)?.status === 404
      if (isUnknown) return undefined
      throw error
    }
    const document = jsonOf(bytes, url)
    if (!isJsonObject(document) || document['name'] !== name) {
      throw malformed(`returns another package than ${visibleText(name)}`)
    }
    return document
  }

  #fetch(
    url: URL, maxBytes: number, headers: Record<string, string>, onProgress?: RegistryOptions['onProgress'],
  ): Promise<Uint8Array> {
    const { signal } = this.#options
    return fetchBytes(url, {
      maxBytes, headers, authorize: this.#authorize, ...(signal && { signal }), ...(onProgress && { onProgress }),
    })
  }
}

function authorizer(authorization: RegistryAuthorization | undefined): (url: URL) => string | undefined {
  if (authorization === undefined) return () => undefined
  const { header } = authorization
  const below = new URL(authorization.below)
  // `fetch` would show the header in its error.
  if (!/^[\x20-\x7e]+$/.test(header)) {
    throw new BulkheadError('InstallSourceInvalid', `The credentials for ${below.href} contain invalid characters.`)
  }
  return (url) => url.origin === below.origin && url.pathname.startsWith(below.pathname) ? header : undefined
}

function readVersion(name: string, version: string, described: JsonObject, base: URL): RegistryVersion {
  const dist = objectAt(described, 'dist')
  const { tarball, integrity, attestations = null } = dist
  if (described['version'] !== version || typeof tarball !== 'string') {
    throw malformed(`has no tarball for ${visibleText(name)}@${visibleText(version)}`)
  }
  const digests = typeof integrity === 'string'
    ? [...integrity.matchAll(/(?:^|\s)sha512-([A-Za-z0-9+/]{86}==)(?=\s|$)/g)] : []
  const [digest] = digests
  if (digest === undefined || digests.length > 1) {
    throw malformed(`has no sha512, or more than one, for ${visibleText(name)}@${visibleText(version)}`)
  }
  const url = isJsonObject(attestations) ? attestations['url'] : undefined
  const { deprecated } = described
  return {
    name, version, tarball: checkLink(tarball, 'a tarball', base),
    sha512: Buffer.from(digest[1]!, 'base64').toString('hex'),
    attestations: typeof url === 'string' ? checkLink(url, 'attestations', base) : null,
    deprecated: typeof deprecated === 'string' && deprecated !== '' ? visibleText(deprecated.slice(0, 300)) : null,
  }
}

const objectAt = (value: JsonObject, key: string): JsonObject => {
  const member = Object.hasOwn(value, key) ? value[key] : undefined
  return isJsonObject(member) ? Object.assign(Object.create(null) as object, member) : {}
}

function jsonOf(bytes: Uint8Array, url: URL): Json {
  const parsed = parseJson(Buffer.from(bytes).toString('utf8'), DOCUMENT_LIMITS)
  if (!parsed.ok) throw malformed(`returns a document at ${visibleText(url.pathname)} that ${parsed.fault.message}`)
  return parsed.value
}

const malformed = (what: string) => new BulkheadError('InstallSourceInvalid', `The registry ${what}.`)
