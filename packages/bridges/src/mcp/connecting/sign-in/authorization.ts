import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import {
  auth, type AuthProvider, computeScopeUnion, discoverOAuthServerInfo, extractWWWAuthenticateParams,
  InsufficientScopeError, isHttpsUrl, OAuthError, type OAuthClientProvider, type OAuthDiscoveryState, OAuthErrorCode,
  refreshAuthorization, selectResourceURL, type StoredOAuthTokens, UnauthorizedError,
} from '@modelcontextprotocol/client'
import { cut } from '../../../connected/entries.ts'
import { redactorOf } from '../server-messages.ts'
import type { CredentialFile, Credentials } from './credentials.ts'
import { addressFault, guardedFetch } from './guarded-fetch.ts'
import { RedirectListener } from './redirect-listener.ts'

/** The key `oauth` of a server, with the value of its secret. */
export interface OauthSettings {
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
  readonly scopes?: readonly string[] | undefined
}

/** A person who signs in with a browser. */
export interface SignInPrompt {
  /** Shows the address to open. */
  show(url: URL): void
  /** The port of this machine that the browser is redirected to. Default: the last one if it is free, or any. */
  readonly port?: number | undefined
  readonly signal: AbortSignal
}

export interface AuthorizationOptions {
  readonly name: string
  readonly url: URL
  readonly settings: OauthSettings
  readonly credentials: CredentialFile
  /** Called with every token and secret that may appear in messages. */
  onSecrets(secrets: ReadonlyMap<string, string>): void
  /** Without it, nothing but a refresh of existing tokens happens. */
  readonly prompt?: SignInPrompt | undefined
}

type Challenge = Pick<ReturnType<typeof extractWWWAuthenticateParams>, 'resourceMetadataUrl' | 'scope'>

const MESSAGE_CHARS = 500
const LEAST_SECRET_CHARS = 8
const MOST_SECRETS = 16

/**
 * The OAuth client for one server. Requests carry the stored token. A rejected token is refreshed once. A new sign-in
 * happens only if a person started it: a server cannot make a sign-in page appear.
 */
export class Authorization implements AuthProvider {
  readonly #options: AuthorizationOptions
  /** Newest last. Earlier tokens stay in it, because a server may still mention them. */
  #secrets: readonly (readonly [name: string, value: string])[] = []
  #sent: string | undefined
  #refreshing: Promise<void> | undefined
  #hasSignedIn = false

  constructor(options: AuthorizationOptions) {
    this.#options = options
    this.#keepSecret('client secret', options.settings.clientSecret)
  }

  get hasSignedIn(): boolean {
    return this.#hasSignedIn
  }

  async token(): Promise<string | undefined> {
    // Without a token, the server says what it demands.
    if (this.#options.prompt && !this.#hasSignedIn) return undefined
    this.#sent = this.#read()?.tokens?.access_token
    return this.#sent
  }

  async onUnauthorized({ response }: { readonly response: Response }): Promise<void> {
    const challenge = extractWWWAuthenticateParams(response)
    if (this.#options.prompt) {
      if (this.#hasSignedIn) throw this.#failed('the server rejects the token that it was given')
      return this.signIn(challenge)
    }
    const { tokens } = this.#read() ?? {}
    if (tokens !== undefined && tokens.access_token !== this.#sent) return
    if (tokens?.refresh_token === undefined) {
      throw response.headers.has('www-authenticate') ? this.#required() : new UnauthorizedError()
    }
    this.#refreshing ??= this.#refresh(challenge).finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  /** The error to report if a request was rejected because its token lacks a scope. The next sign-in asks for it. */
  faultOf(error: unknown): unknown {
    if (!(error instanceof InsufficientScopeError)) return error
    const { requiredScope } = error
    this.#options.credentials.change(({ scope: before, ...rest }) => {
      const scope = computeScopeUnion(before, rest.tokens?.scope, requiredScope)
      return { ...rest, ...(scope !== undefined && { scope }) }
    })
    const scopes = cut(visibleText(requiredScope ?? 'more scopes'), MESSAGE_CHARS)
    return this.#required(`for: ${scopes}`)
  }

  /** Resolves when the person has signed in and the tokens are stored. Rejects with SignInFailed. */
  async signIn({ resourceMetadataUrl, scope: demanded }: Challenge = {}): Promise<void> {
    const { url, settings, credentials, prompt } = this.#options
    if (!prompt) throw this.#required()
    const { redirectUri, scope: wanted } = credentials.read() ?? {}
    const lastPort = Number(URL.parse(redirectUri ?? '')?.port ?? 0)
    let secrets: readonly string[] = []
    let listener: RedirectListener | undefined
    try {
      listener = await RedirectListener.open(prompt.port ?? lastPort, prompt.port !== undefined)
      const provider = this.#provider(listener, prompt)
      const scope = settings.scopes?.join(' ') ?? computeScopeUnion(demanded, wanted)
      const flow = {
        serverUrl: url, fetchFn: guardedFetch(url, prompt.signal), forceReauthorization: true,
        ...(resourceMetadataUrl && { resourceMetadataUrl }), ...(scope !== undefined && { scope }),
      }
      await auth(provider, flow)
      const answer = await listener.arrived(prompt.signal)
      const [code, iss] = [answer.get('code'), answer.get('iss')]
      if (code === null) throw new Error(`the authorization server answered ${answer.get('error') ?? 'without a code'}`)
      secrets = [code, await provider.codeVerifier()]
      await auth(provider, { ...flow, authorizationCode: code, ...(iss !== null && { iss }) })
      this.#hasSignedIn = true
    } catch (error) {
      if (prompt.signal.aborted) throw prompt.signal.reason
      throw BulkheadError.is(error) ? error : this.#failed(reasonOf(error), secrets)
    } finally {
      listener?.close()
    }
  }

  async #refresh({ resourceMetadataUrl }: Challenge): Promise<void> {
    const { url, credentials } = this.#options
    const before = this.#read()
    const client = before && this.#client(before)
    const { refresh_token: refreshToken, issuer, scope } = before?.tokens ?? {}
    if (client === undefined || refreshToken === undefined) throw this.#required()
    try {
      const fetchFn = guardedFetch(url)
      const found = await discoverOAuthServerInfo(url, { fetchFn, ...(resourceMetadataUrl && { resourceMetadataUrl }) })
      const { authorizationServerUrl, authorizationServerMetadata: metadata, resourceMetadata } = found
      if (!isSameIssuer(metadata?.issuer ?? authorizationServerUrl, issuer!)) {
        throw this.#required('again: it has a new authorization server')
      }
      // The SDK checks that the document is about this server.
      await selectResourceURL(url, NO_PROVIDER, resourceMetadata)
      const tokens = await refreshAuthorization(authorizationServerUrl, {
        clientInformation: client, refreshToken, fetchFn, ...(metadata && { metadata }),
        ...(resourceMetadata && { resource: resourceMetadata.resource }),
      })
      this.#saveTokens({ ...(scope !== undefined && { scope }), ...tokens, issuer: issuer! })
    } catch (error) {
      if (BulkheadError.is(error)) throw error
      if (!(error instanceof OAuthError) || !REVOKED.has(error.code)) {
        throw this.#unavailable(`its token could not be refreshed: ${this.#clean(reasonOf(error))}`)
      }
      // Another process may have used the refresh token first.
      if (this.#read()?.tokens?.refresh_token !== refreshToken) return
      credentials.change(({ tokens: _tokens, ...rest }) => rest)
      throw this.#required('again: its tokens are no longer valid')
    }
  }

  #provider(listener: RedirectListener, prompt: SignInPrompt): OAuthClientProvider {
    const { url, settings: { clientId, scopes }, credentials } = this.#options
    let verifier = ''
    let discovery: OAuthDiscoveryState | undefined
    return {
      redirectUrl: listener.url,
      ...(isHttpsUrl(clientId) && { clientMetadataUrl: clientId! }),
      clientMetadata: {
        client_name: 'Bulkhead', redirect_uris: [listener.url], response_types: ['code'],
        grant_types: ['authorization_code', 'refresh_token'], ...(scopes && { scope: scopes.join(' ') }),
      },
      state: () => listener.state,
      clientInformation: (context) => {
        const stored: Omit<Credentials, 'url'> = this.#read() ?? {}
        const client = this.#client(stored)
        const isConfigured = client !== undefined && client !== stored.client
        const isKnown = stored.client === undefined || isSameIssuer(stored.client.issuer, context?.issuer ?? '')
        if (isConfigured && !isKnown) {
          throw this.#failed(`its authorization server was ${stored.client!.issuer} and is now ${context?.issuer}. ${MOVED}`)
        }
        if (isConfigured) return { ...client, issuer: context?.issuer ?? '' }
        return isKnown && stored.redirectUri === listener.url ? client : undefined
      },
      saveClientInformation: (client, context) => {
        const issuer = context?.issuer ?? client.issuer ?? ''
        credentials.change((before) => ({ ...before, client: { ...client, issuer }, redirectUri: listener.url }))
        this.#read()
      },
      tokens: () => undefined,
      saveTokens: (tokens, context) => {
        const issuer = context?.issuer ?? tokens.issuer ?? ''
        const configured = this.#client()
        // A configured secret stays where it is. Only the authorization server that it belongs to is kept.
        if (configured) {
          const client = { client_id: configured.client_id, issuer }
          credentials.change((before) => ({ ...before, client, redirectUri: listener.url }))
        }
        this.#saveTokens({ ...tokens, issuer })
      },
      redirectToAuthorization: (to) => {
        const fault = addressFault(to, url)
        if (fault !== undefined) throw new Error(`the sign-in page ${to.origin} ${fault}`)
        const methods = discovery?.authorizationServerMetadata?.code_challenge_methods_supported
        if (!methods?.includes('S256')) throw new Error('its authorization server does not support PKCE (S256)')
        prompt.show(to)
      },
      saveCodeVerifier: (given) => {
        verifier = given
      },
      codeVerifier: () => verifier,
      saveDiscoveryState: (given) => {
        discovery = given
      },
      discoveryState: () => discovery,
      invalidateCredentials: (what) => {
        if (what === 'client' || what === 'all') credentials.change(({ client: _client, ...rest }) => rest)
      },
    }
  }

  /** The client of the configuration, or the one that was registered. */
  #client(stored?: Omit<Credentials, 'url'>): NonNullable<Credentials['client']> | undefined {
    const { clientId, clientSecret } = this.#options.settings
    if (clientId === undefined || isHttpsUrl(clientId)) return stored?.client
    const issuer = stored?.client?.issuer
    return {
      client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }), ...(issuer && { issuer }),
    } as NonNullable<Credentials['client']>
  }

  #saveTokens({ access_token, token_type, refresh_token, scope, issuer = '' }: StoredOAuthTokens): void {
    this.#options.credentials.change(({ scope: _demanded, ...before }) => ({
      ...before,
      tokens: {
        access_token, token_type, issuer,
        ...(refresh_token !== undefined && { refresh_token }), ...(scope !== undefined && { scope }),
      },
    }))
    this.#read()
  }

  #read(): Credentials | undefined {
    const stored = this.#options.credentials.read()
    this.#keepSecret('client secret', stored?.client?.client_secret)
    this.#keepSecret('refresh token', stored?.tokens?.refresh_token)
    this.#keepSecret('access token', stored?.tokens?.access_token)
    return stored
  }

  #keepSecret(name: string, value: string | undefined): void {
    if (value === undefined || value.length < LEAST_SECRET_CHARS) return
    if (this.#secrets.some(([, known]) => known === value)) return
    this.#secrets = [...this.#secrets.slice(1 - MOST_SECRETS), [name, value]]
    this.#options.onSecrets(new Map(this.#secrets.map(([what, secret], index) => [`${what} ${index + 1}`, secret])))
  }

  #clean(text: string, secrets: readonly string[] = []): string {
    const known = [...this.#secrets, ...secrets.map((value) => ['sign-in', value] as const)]
    return cut(visibleText(redactorOf(new Map(known.map(([, value], index) => [`${index + 1}`, value])))(text)), MESSAGE_CHARS)
  }

  #required(what = ''): BulkheadError {
    const { name } = this.#options
    const message = `The MCP server "${name}" requires a sign-in${what && ` ${what}`}. Run \`bulkhead mcp login ${name}\`.`
    return new BulkheadError('SignInRequired', message, { data: { server: name } })
  }

  #failed(why: string, secrets: readonly string[] = []): BulkheadError {
    const { name } = this.#options
    const message = `The sign-in to the MCP server "${name}" failed: ${this.#clean(why, secrets)}`
    return new BulkheadError('SignInFailed', message.endsWith('.') ? message : `${message}.`, { data: { server: name } })
  }

  #unavailable(why: string): BulkheadError {
    const { name } = this.#options
    return new BulkheadError('ServerUnavailable', `mcp server ${name} is unavailable: ${why}`, { data: { server: name } })
  }
}

const MOVED = 'If that is right, run `bulkhead mcp logout` and sign in again'

/** Errors of a refresh after which only a new sign-in helps. */
const REVOKED: ReadonlySet<string> = new Set([
  OAuthErrorCode.InvalidGrant, OAuthErrorCode.InvalidClient, OAuthErrorCode.UnauthorizedClient,
])

/** `selectResourceURL` looks for one optional method of it. */
const NO_PROVIDER = {} as OAuthClientProvider

const isSameIssuer = (one: string, other: string): boolean => one.replace(/\/$/, '') === other.replace(/\/$/, '')

/** A network error tells its reason in its cause. */
const reasonOf = (error: unknown): string => {
  const { cause } = error as { readonly cause?: unknown }
  return cause instanceof Error ? `${messageOf(error)} ${messageOf(cause)}` : messageOf(error)
}
