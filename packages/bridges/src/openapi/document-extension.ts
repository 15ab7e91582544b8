import { isIP } from 'node:net'
import {
  CALL_LIMITS, CONTRACT_VERSION, MANIFEST_LIMITS, type ConnectedExtension, type Diagnostic, type ManifestInput,
  type OpenapiConfig, type ResolvedConfig,
} from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import {
  cut, diagnosticOf, entriesOf, findSecretFault, labelOf, sha512, versionFrom, toolName, type Entries, type Entry,
  type EntryKind,
} from '../connected/entries.ts'
import { OauthTokens } from './calling/authorization.ts'
import { operationTool } from './calling/operation-tool.ts'
import { pageHint } from './calling/pagination.ts'
import { credentialsOf, type Credential, type Credentials } from './credentials.ts'
import type { DescribedApi, DescribedOperation } from './reading/api-description.ts'
import { isPinnedUrl } from './sources/source.ts'

export interface DocumentExtension {
  /** undefined if there are no usable operations. */
  readonly extension: ConnectedExtension | undefined
  readonly diagnostics: readonly Diagnostic[]
}

const REPORT = 'Report it to the author of the document.'
const CURE = 'Report it to the author of the document, or exclude the operation.'

/** For a message. A hostile document could fill the memory of a terminal. */
const listOf = (names: readonly string[]): string => cut(names.join(', '), 256 * 1024)

/** A document as an extension: a manifest of its operations, and a module that sends requests. `path` is its file. */
export function documentExtension(
  entry: DocumentEntry, path: string, api: DescribedApi, base: BaseUrl,
): DocumentExtension {
  const { name, config } = entry
  const prefix = config.prefix === undefined ? [] : [config.prefix]
  const groups = Map.groupBy(api.operations, ({ operationId }) => toolName([...prefix, operationId], '__'))
  const byName = new Map(
    [...groups].filter(([, found]) => found.length === 1).map(([tool, [operation]]) => [tool, operation!]),
  )
  const duplicates = [...groups].filter(([tool]) => !byName.has(tool))
    .map(([tool, found]) => {
      const ids = found.map(({ operationId }) => `"${operationId}"`).join(' and ')
      return `${ids} would both be called "${tool}"`
    })
  const credentials = credentialsOf(config, api, base.href)
  const tokens = new OauthTokens()
  const diagnostics = [
    ...credentials.faults.map((what) =>
      diagnosticOf(entry, 'ConfigInvalid', `The document "${name}" ${visibleText(what)}.`)),
    ...(credentials.missing.length === 0 ? [] : [diagnosticOf(entry, 'ConfigInvalid',
      `The document "${name}" has operations that require security schemes for which "security" has no credential. `
      + `Their requests have none: ${visibleText(listOf(credentials.missing))}.`, undefined, 'warning')]),
    ...[...api.faults, ...duplicates].map((what) => {
      const message = `The document "${name}" has an operation that cannot be used: ${visibleText(what)}.`
      return diagnosticOf(entry, 'ShapeInvalid', message, CURE)
    }),
    ...api.mended.map((what) => {
      const message = `The document "${name}" has schemas that are not valid JSON Schema 2020-12 and were converted: `
      return diagnosticOf(entry, 'ConfigSchemaInvalid', `${message}${visibleText(what)}.`, REPORT, 'warning')
    }),
    ...(api.shortened.length === 0 ? [] : [diagnosticOf(entry, 'ConfigSchemaInvalid',
      `The document "${name}" has ${api.shortened.length} operations whose schemas are too large. They are offered `
      + `with a part of their schemas: ${listOf(api.shortened)}.`, REPORT, 'warning')]),
  ]
  if (byName.size === 0) return { extension: undefined, diagnostics }
  const digests = new Map([...byName].map(([tool, operation]) => [tool, digestOf(operation, credentials, config)]))
  const extension: ConnectedExtension = {
    layer: entry.layer,
    location: entry.location,
    identity: sha512(canonicalJson({
      path, base: base.href, auth: (config.auth ?? null) as Json,
      ...(config.security && { security: config.security as unknown as Json }),
    })),
    definitions: digests,
    ...(isPinnedUrl(config.document) && { pinned: true }),
    server: {
      kind: 'openapi', name, address: base.href,
      tools: new Map([...byName].map(([tool, { operationId }]) => [tool, operationId])),
      actions: new Map(
        [...byName].map(([tool, operation]) => [tool, `${operation.method} ${base.href}${operation.path}`]),
      ),
    },
    manifest: {
      kind: 'Tool', contractVersion: CONTRACT_VERSION, requiredCoreVersion: '*',
      id: entry.extensionId, title: `OpenAPI document ${name}`,
      version: versionFrom(api.version, [...[...digests.values()].toSorted(), `${config.timeoutMs ?? ''}`]),
      ...secretsOf([...byName.values()].flatMap(({ operationId }) => credentials.of(operationId)), base),
      tools: [...byName].map(([tool, operation]) =>
        toolManifest(tool, operation, hostsOf(credentials.of(operation.operationId), base), config)),
    },
    module: (names) => ({
      tools: Object.fromEntries(names.map((tool) => {
        const operation = byName.get(tool)!
        return [tool, operationTool(operation, name, base.href, credentials.of(operation.operationId), tokens)]
      })),
    }),
  }
  return { extension, diagnostics }
}

/** Security schemes count only if the configuration has credentials for them. */
function digestOf(
  { security: _, ...operation }: DescribedOperation, credentials: Credentials, { security }: OpenapiConfig,
): string {
  const used = security === undefined ? {} : { credentials: credentials.of(operation.operationId) }
  return sha512(canonicalJson({ ...operation, ...used } as unknown as Json))
}

const tokenHostOf = (credential: Credential): readonly string[] =>
  credential.kind === 'oauth2' ? [baseOf(new URL(credential.tokenUrl)).host] : []

const hostsOf = (credentials: readonly Credential[], { host }: BaseUrl): readonly string[] =>
  [...new Set([host, ...credentials.flatMap(tokenHostOf)])]

/** Each secret with the hosts that may receive it. A client secret goes to the token server only. */
function secretsOf(credentials: readonly Credential[], { host }: BaseUrl): Pick<ManifestInput, 'secrets'> {
  const hosts = new Map<string, Set<string>>()
  for (const one of credentials) {
    const known = hosts.get(one.secret) ?? new Set()
    for (const target of one.kind === 'oauth2' ? tokenHostOf(one) : [host]) known.add(target)
    hosts.set(one.secret, known)
  }
  return hosts.size === 0 ? {} : { secrets: [...hosts].map(([name, known]) => ({ name, hosts: [...known] })) }
}

function toolManifest(
  name: string, operation: DescribedOperation, hosts: readonly string[], { timeoutMs }: OpenapiConfig,
): ManifestInput['tools'][number] {
  const { method, label, description, inputSchema } = operation
  const hint = pageHint(operation)
  const own = cut(description, MANIFEST_LIMITS.descriptionChars - hint.length - 1)
  return {
    name, ...labelOf(label),
    description: hint === '' ? own : `${own}\n${hint}`,
    inputSchema,
    requires: { net: { hosts: [...hosts] } },
    // The document is untrusted: a GET may have effects, so it is gated.
    gated: true, mode: 'external', ...(method === 'GET' && { kind: 'fetch' as const }),
    // By the method alone, which the host sends.
    effects: method === 'GET' || method === 'HEAD' ? 'none' : 'once',
    timeoutMs: Math.min(timeoutMs ?? CALL_LIMITS.defaultTimeoutMs, CALL_LIMITS.maxTimeoutMs),
  }
}

/** A usable document of the configuration. Its identity covers all settings except the timeout and `enabled`. */
export type DocumentEntry = Entry<OpenapiConfig>

const DOCUMENTS: EntryKind<OpenapiConfig, DocumentEntry> = {
  key: 'openapi', noun: 'document',
  read: ({ openapi }) => openapi,
  make: (entry) => {
    const { enabled: _, timeoutMs: _ms, ...settings } = entry.config
    return { ...entry, identity: sha512(canonicalJson(settings as unknown as Json)) }
  },
  findFault({ baseUrl, auth, security }) {
    if (auth !== undefined && security !== undefined) return 'has both "auth" and "security"; remove one of them'
    const key = auth === undefined ? 'security' : 'auth'
    const isSecret = auth !== undefined || security !== undefined
    const tokenUrls = [...(auth?.type === 'oauth2' ? [auth] : []), ...Object.values(security ?? {})]
      .flatMap(({ tokenUrl }) => tokenUrl ?? [])
    const fault = tokenUrls.map((url) => findSecretFault(url, true)).find((one) => one !== undefined)
    if (fault !== undefined) return fault
    if (baseUrl !== undefined) return findSecretFault(baseUrl, isSecret) ?? findBaseFault(baseUrl)
    // Otherwise the author of the document chooses where the secret is sent.
    return isSecret
      ? `has "${key}" but no "baseUrl"; set "baseUrl" to the server that may receive the secret` : undefined
  },
}

export const documentEntries = (config: Pick<ResolvedConfig, 'layers'>): Entries<DocumentEntry> =>
  entriesOf(config, DOCUMENTS)

const findBaseFault = (url: string): string | undefined =>
  /[?#]/.test(url) ? 'has a "baseUrl" with a query or a fragment; remove it' : undefined

/** The base URL of the operations of a document. */
export interface BaseUrl {
  /** Without a trailing slash. */
  readonly href: string
  /** The only host that its tools may reach, as in a manifest. */
  readonly host: string
}

export type BaseVerdict =
  | { readonly ok: true; readonly base: BaseUrl }
  | { readonly ok: false; readonly message: string }

/**
 * The base URL of the configuration, else of the document. A document may name a host; the address policy applies to it
 * as to any other. It may not name an IP address or localhost: declared addresses are allowed even if private, so only
 * the configuration may declare one.
 */
export function baseUrlOf(configured: string | undefined, server: string | null): BaseVerdict {
  if (configured !== undefined) return { ok: true, base: baseOf(new URL(configured)) }
  const cure = 'set "baseUrl" in the configuration'
  const url = server === null ? null : URL.parse(server)
  if (url === null) return refused(`has no server with an absolute URL; ${cure}`)
  if (!PORTS.has(url.protocol)) return refused(`has a server that does not use http or https; ${cure}`)
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    return refused(`has a server URL with credentials, a query or a fragment; ${cure}`)
  }
  const name = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost') || !name.includes('.')) {
    return refused(`has a server with an IP address or a local name; ${cure} to allow it`)
  }
  return { ok: true, base: baseOf(url) }
}

const PORTS: ReadonlyMap<string, string> = new Map([['https:', '443'], ['http:', '80']])

function baseOf(url: URL): BaseUrl {
  const { protocol, hostname, port, origin, pathname } = url
  return {
    href: origin + pathname.replace(/(?<!\/)\/+$/, ''),
    host: `${hostname.replace(/\.$/, '')}:${port || PORTS.get(protocol)!}`,
  }
}

const refused = (message: string): BaseVerdict => ({ ok: false, message })
