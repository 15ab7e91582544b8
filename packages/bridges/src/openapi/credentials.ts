import type { OpenapiConfig } from '@bulkhead/contract'
import type { DescribedApi, DescribedScheme } from './reading/api-description.ts'

/** How a secret of the configuration authorises a request. Contains its name only. */
export type Credential =
  | { readonly kind: 'bearer'; readonly secret: string }
  | { readonly kind: 'basic'; readonly secret: string; readonly username: string | undefined }
  | {
    readonly kind: 'apiKey'
    readonly secret: string
    readonly in: 'header' | 'query' | 'cookie'
    readonly parameter: string
  }
  | OauthClient

/** The OAuth 2.0 flow for client credentials. */
export interface OauthClient {
  readonly kind: 'oauth2'
  readonly secret: string
  readonly clientId: string
  readonly tokenUrl: string
  readonly scopes: readonly string[]
}

type Configured = NonNullable<OpenapiConfig['security']>[string]

/** The credentials of each operation, and what prevents others from being used. */
export interface Credentials {
  of(operationId: string): readonly Credential[]
  /** Credentials that cannot be used. Each is the end of a sentence about the document. */
  readonly faults: readonly string[]
  /** Operations that require security schemes for which there is no credential. */
  readonly missing: readonly string[]
}

/** Chooses the credentials of every operation. `base`: the only origin a document may name for tokens. */
export function credentialsOf({ auth, security }: OpenapiConfig, api: DescribedApi, base: string): Credentials {
  if (auth !== undefined) return ofAuth(auth, api, base)
  const faults: string[] = []
  const byScheme = new Map<string, Credential>()
  for (const [name, configured] of Object.entries(security ?? {})) {
    const scheme = api.schemes.find((one) => one.name === name)
    const found = scheme === undefined ? `has no usable security scheme "${name}"` : ofScheme(scheme, configured, base)
    if (typeof found === 'string') faults.push(found)
    else byScheme.set(name, found)
  }
  const chosen = new Map<string, readonly Credential[]>()
  const missing: string[] = []
  for (const { operationId, security: alternatives } of api.operations) {
    const usable = alternatives.find((names) => names.every((name) => byScheme.has(name)))
    if (usable !== undefined) chosen.set(operationId, usable.map((name) => byScheme.get(name)!))
    else if (security !== undefined && alternatives.length > 0) missing.push(operationId)
  }
  return { of: (operationId) => chosen.get(operationId) ?? [], faults, missing }
}

function ofAuth(auth: NonNullable<OpenapiConfig['auth']>, api: DescribedApi, base: string): Credentials {
  const credential = ofConfiguration(auth, api, base)
  return typeof credential === 'string'
    ? { of: () => [], faults: [credential], missing: [] } : { of: () => [credential], faults: [], missing: [] }
}

function ofConfiguration(
  auth: NonNullable<OpenapiConfig['auth']>, { schemes }: DescribedApi, base: string,
): Credential | string {
  const { secret } = auth
  switch (auth.type) {
    case 'bearer':
      return { kind: 'bearer', secret }
    case 'basic':
      return { kind: 'basic', secret, username: auth.username }
    case 'apiKey':
      return { kind: 'apiKey', secret, in: 'header', parameter: auth.header }
    case 'queryKey':
      return { kind: 'apiKey', secret, in: 'query', parameter: auth.query }
    case 'cookieKey':
      return { kind: 'apiKey', secret, in: 'cookie', parameter: auth.cookie }
    case 'oauth2': {
      const declared = schemes.find(({ tokenUrl }) => tokenUrl !== undefined)?.tokenUrl
      return oauthClient(auth, declared, base)
    }
  }
}

function ofScheme(scheme: DescribedScheme, configured: Configured, base: string): Credential | string {
  const { secret, username, clientId } = configured
  switch (scheme.kind) {
    case 'bearer':
      return { kind: 'bearer', secret }
    case 'basic':
      return { kind: 'basic', secret, username }
    case 'apiKey':
      return { kind: 'apiKey', secret, in: scheme.in, parameter: scheme.parameter }
    case 'oauth2':
      // Without a client, the secret is a token of any flow.
      return clientId === undefined
        ? { kind: 'bearer', secret } : oauthClient({ ...configured, clientId }, scheme.tokenUrl, base)
  }
}

function oauthClient(
  { secret, clientId, tokenUrl, scopes = [] }: Configured & { readonly clientId: string },
  declared: string | undefined, base: string,
): OauthClient | string {
  const url = tokenUrl ?? (declared === undefined ? undefined : URL.parse(declared, `${base}/`)?.href)
  const cure = 'set "tokenUrl" in the configuration'
  if (url === undefined) return `has no token URL for client credentials; ${cure}`
  // A document may not choose where the client secret goes.
  if (tokenUrl === undefined && new URL(url).origin !== new URL(base).origin) {
    return `has a token URL on another host than "baseUrl"; ${cure}`
  }
  return { kind: 'oauth2', secret, clientId, tokenUrl: url, scopes }
}
