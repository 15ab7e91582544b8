import { BulkheadError } from '@bulkhead/contract'
import {
  auth, computeScopeUnion, isHttpsUrl, type OAuthClientProvider, type OAuthDiscoveryState,
} from '@modelcontextprotocol/client'
import { type Account, isSameIssuer } from './account.ts'
import { addressFault, guardedFetch } from './guarded-fetch.ts'
import { RedirectListener } from './redirect-listener.ts'

/** A person who signs in with a browser. */
export interface SignInPrompt {
  /** Shows the address to open. */
  show(url: URL): void
  /** The port of this machine that the browser is redirected to. Default: the last one if it is free, or any. */
  readonly port?: number | undefined
  readonly signal: AbortSignal
}

/** What a server demands with a rejected request. */
export interface Challenge {
  readonly resourceMetadataUrl?: URL | undefined
  readonly scope?: string | undefined
}

/** Resolves when the person has signed in and the tokens are stored. Rejects with SignInFailed. */
export async function signIn(
  account: Account, prompt: SignInPrompt, { resourceMetadataUrl, scope: demanded }: Challenge = {},
): Promise<void> {
  const { url, settings } = account
  const { redirectUri = '', scope: wanted } = account.read()
  let listener: RedirectListener | undefined
  try {
    const lastPort = Number(URL.parse(redirectUri)?.port ?? 0)
    listener = await RedirectListener.open(prompt.port ?? lastPort, prompt.port !== undefined)
    const provider = providerOf(account, listener, prompt)
    const scope = settings.scopes?.join(' ') ?? computeScopeUnion(demanded, wanted)
    const flow = {
      serverUrl: url, fetchFn: guardedFetch(url, prompt.signal), forceReauthorization: true,
      ...(resourceMetadataUrl && { resourceMetadataUrl }), ...(scope !== undefined && { scope }),
    }
    await auth(provider, flow)
    const answer = await listener.arrived(prompt.signal)
    const [code, iss] = [answer.get('code'), answer.get('iss')]
    if (code === null) throw new Error(`the authorization server answered ${answer.get('error') ?? 'without a code'}`)
    account.keepSecret('code', code)
    await auth(provider, { ...flow, authorizationCode: code, ...(iss !== null && { iss }) })
  } catch (error) {
    if (prompt.signal.aborted) throw prompt.signal.reason
    throw BulkheadError.is(error) ? error : account.signInFailed(error)
  } finally {
    listener?.close()
  }
}

/**
 * What the SDK asks during one sign-in. A registration is used again for the same authorization server and the same
 * redirect address. A configured client stays with the authorization server of its first sign-in: otherwise a server
 * that is taken over could collect the secret of the client.
 */
function providerOf(account: Account, listener: RedirectListener, prompt: SignInPrompt): OAuthClientProvider {
  const { url, settings: { clientId, scopes }, credentials, configuredClient } = account
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
      const { client, redirectUri } = account.read()
      const issuer = context?.issuer ?? ''
      const isKnown = client === undefined || isSameIssuer(client.issuer, issuer)
      if (!configuredClient) return isKnown && redirectUri === listener.url ? client : undefined
      if (!isKnown) throw new Error(`its authorization server was ${client.issuer} and is now ${issuer}. ${MOVED}`)
      return { ...configuredClient, issuer }
    },
    saveClientInformation: async (given, context) => {
      const client = { ...given, issuer: context?.issuer ?? given.issuer ?? '' }
      await credentials.change((before) => ({ ...before, client, redirectUri: listener.url }))
      account.read()
    },
    tokens: () => undefined,
    saveTokens: async (tokens, context) => {
      const issuer = context?.issuer ?? tokens.issuer ?? ''
      const client = configuredClient && { client_id: configuredClient.client_id, issuer }
      await credentials.change((before) => account.withTokens({
        ...before, ...(client && { client, redirectUri: listener.url }),
      }, { ...tokens, issuer }))
    },
    redirectToAuthorization: (to) => {
      const fault = addressFault(to, url)
      if (fault !== undefined) throw new Error(`the sign-in page ${to.protocol}//${to.host} ${fault}`)
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
    invalidateCredentials: async (what) => {
      if (what === 'client' || what === 'all') await credentials.change(({ client: _client, ...rest }) => rest)
    },
  }
}

const MOVED = 'If that is right, run `bulkhead mcp logout` with the name of the server, then sign in again'
