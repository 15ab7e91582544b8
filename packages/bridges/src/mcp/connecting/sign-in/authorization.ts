import { BulkheadError } from '@bulkhead/contract'
import {
  type AuthProvider, computeScopeUnion, discoverOAuthServerInfo, extractWWWAuthenticateParams, InsufficientScopeError,
  OAuthError, type OAuthClientProvider, OAuthErrorCode, refreshAuthorization, selectResourceURL, UnauthorizedError,
} from '@modelcontextprotocol/client'
import { type Account, isSameIssuer } from './account.ts'
import { guardedFetch } from './guarded-fetch.ts'
import { type Challenge, signIn, type SignInPrompt } from './sign-in.ts'

/**
 * Authorizes the requests to one server. Requests carry the stored token. A rejected token is refreshed once. A new
 * sign-in happens only if a person started it: a server cannot make a sign-in page appear.
 */
export class Authorization implements AuthProvider {
  readonly #account: Account
  readonly #prompt: SignInPrompt | undefined
  #sent: string | undefined
  #refreshing: Promise<void> | undefined
  #hasSignedIn = false

  constructor(account: Account, prompt?: SignInPrompt) {
    this.#account = account
    this.#prompt = prompt
  }

  async token(): Promise<string | undefined> {
    // Without a token, the server tells what it demands.
    if (this.#prompt && !this.#hasSignedIn) return undefined
    this.#sent = this.#account.read().tokens?.access_token
    return this.#sent
  }

  async onUnauthorized({ response }: { readonly response: Response }): Promise<void> {
    const challenge = extractWWWAuthenticateParams(response)
    if (this.#prompt) return this.signInOnce(challenge)
    const rejected = this.#sent
    const { tokens } = this.#account.read()
    if (isNewer(tokens, rejected)) return
    if (tokens?.refresh_token === undefined) {
      throw response.headers.has('www-authenticate') ? this.#account.signInRequired() : new UnauthorizedError()
    }
    this.#refreshing ??= this.#refresh(challenge, rejected).finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  /** Signs the person in, unless that has happened. Rejects with SignInFailed. */
  async signInOnce(challenge?: Challenge): Promise<void> {
    if (!this.#prompt) throw this.#account.signInRequired()
    if (this.#hasSignedIn && challenge) {
      throw this.#account.signInFailed(new Error('the server rejects the token that it was given'))
    }
    if (this.#hasSignedIn) return
    await signIn(this.#account, this.#prompt, challenge)
    this.#hasSignedIn = true
  }

  /** The error to report if a request was rejected because its token lacks a scope. The next sign-in asks for it. */
  async faultOf(error: unknown): Promise<unknown> {
    if (!(error instanceof InsufficientScopeError)) return error
    const { requiredScope } = error
    await this.#account.credentials.change(({ scope: before, ...rest }) => {
      const scope = computeScopeUnion(before, rest.tokens?.scope, requiredScope)
      return { ...rest, ...(scope !== undefined && { scope }) }
    })
    return this.#account.signInRequired(`for ${requiredScope ?? 'more scopes'}`)
  }

  /**
   * Under the lock of the credentials: a refresh token can be used once, and an authorization server that sees it twice
   * revokes all tokens.
   */
  #refresh({ resourceMetadataUrl }: Challenge, rejected: string | undefined): Promise<void> {
    const account = this.#account
    const { url, credentials, configuredClient } = account
    return credentials.alone(async (change) => {
      const { tokens: before, client = configuredClient } = account.read()
      if (isNewer(before, rejected)) return
      const { refresh_token: refreshToken, issuer = '', scope } = before ?? {}
      if (client === undefined || refreshToken === undefined) throw account.signInRequired()
      try {
        const fetchFn = guardedFetch(url)
        const found = await discoverOAuthServerInfo(url, { fetchFn, ...(resourceMetadataUrl && { resourceMetadataUrl }) })
        const { authorizationServerUrl, authorizationServerMetadata: metadata, resourceMetadata } = found
        if (!isSameIssuer(metadata?.issuer ?? authorizationServerUrl, issuer)) {
          throw account.signInRequired('again: it has a new authorization server')
        }
        // The SDK checks that the document is about this server.
        await selectResourceURL(url, NO_PROVIDER, resourceMetadata)
        const tokens = await refreshAuthorization(authorizationServerUrl, {
          clientInformation: { ...client, ...configuredClient }, refreshToken, fetchFn, ...(metadata && { metadata }),
          ...(resourceMetadata && { resource: resourceMetadata.resource }),
        })
        change((now) => account.withTokens(now, { ...(scope !== undefined && { scope }), ...tokens, issuer }))
      } catch (error) {
        if (BulkheadError.is(error)) throw error
        if (!(error instanceof OAuthError) || !REVOKED.has(error.code)) throw account.refreshFailed(error)
        change(({ tokens: _tokens, ...rest }) => rest)
        throw account.signInRequired('again: its tokens are no longer valid')
      }
    })
  }
}

/** Whether another request or process has refreshed the rejected token. */
const isNewer = (tokens: { readonly access_token: string } | undefined, rejected: string | undefined): boolean =>
  tokens !== undefined && tokens.access_token !== rejected

/** Errors of a refresh after which only a new sign-in helps. */
const REVOKED: ReadonlySet<string> = new Set([
  OAuthErrorCode.InvalidGrant, OAuthErrorCode.InvalidClient, OAuthErrorCode.UnauthorizedClient,
])

/** `selectResourceURL` looks for one optional method of it. */
const NO_PROVIDER = {} as OAuthClientProvider
