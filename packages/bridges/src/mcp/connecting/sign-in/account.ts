import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import { isHttpsUrl, type StoredOAuthTokens } from '@modelcontextprotocol/client'
import { cut } from '../../../connected/entries.ts'
import { redactorOf } from '../../../connected/server-log.ts'
import { unavailable } from '../server-messages.ts'
import type { CredentialFile, Credentials } from './credentials.ts'

/** The key `oauth` of a server, with the value of its secret. */
export interface OauthSettings {
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
  readonly scopes?: readonly string[] | undefined
}

export interface AccountOptions {
  readonly name: string
  readonly url: URL
  readonly settings: OauthSettings
  readonly credentials: CredentialFile
  /** Called with every token and secret that may appear in messages. */
  onSecrets(secrets: ReadonlyMap<string, string>): void
}

const MESSAGE_CHARS = 500
const LEAST_SECRET_CHARS = 8
const MOST_SECRETS = 16

/** The account at one server: its settings, its tokens, and errors that do not contain them. */
export class Account {
  readonly name: string
  readonly url: URL
  readonly settings: OauthSettings
  readonly credentials: CredentialFile
  readonly #onSecrets: AccountOptions['onSecrets']
  /** Newest last. Earlier tokens stay in it, because a server may still mention them. */
  #secrets: readonly (readonly [name: string, value: string])[] = []

  constructor({ name, url, settings, credentials, onSecrets }: AccountOptions) {
    this.name = name
    this.url = url
    this.settings = settings
    this.credentials = credentials
    this.#onSecrets = onSecrets
    this.keepSecret('client secret', settings.clientSecret)
  }

  /** Throws StoreUnavailable. */
  read(): Omit<Credentials, 'url'> {
    const stored: Omit<Credentials, 'url'> = this.credentials.read() ?? {}
    this.keepSecret('client secret', stored.client?.client_secret)
    this.keepSecret('refresh token', stored.tokens?.refresh_token)
    this.keepSecret('access token', stored.tokens?.access_token)
    return stored
  }

  /** The credentials with new tokens. They are no longer mentioned in messages. */
  withTokens(
    { scope: _demanded, ...before }: Omit<Credentials, 'url'>,
    { access_token, token_type, refresh_token, scope, issuer = '' }: StoredOAuthTokens,
  ): Omit<Credentials, 'url'> {
    this.keepSecret('refresh token', refresh_token)
    this.keepSecret('access token', access_token)
    return {
      ...before,
      tokens: {
        access_token, token_type, issuer,
        ...(refresh_token !== undefined && { refresh_token }), ...(scope !== undefined && { scope }),
      },
    }
  }

  /** The client of the configuration. undefined if one is registered, or described by a document. */
  get configuredClient(): { readonly client_id: string; readonly client_secret?: string } | undefined {
    const { clientId, clientSecret } = this.settings
    if (clientId === undefined || isHttpsUrl(clientId)) return undefined
    return { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) }
  }

  /** Removes a value from messages from now on. */
  keepSecret(name: string, value: string | undefined): void {
    if (value === undefined || value.length < LEAST_SECRET_CHARS) return
    if (this.#secrets.some(([, known]) => known === value)) return
    this.#secrets = [...this.#secrets.slice(1 - MOST_SECRETS), [name, value]]
    this.#onSecrets(this.#known)
  }

  signInRequired(what = ''): BulkheadError {
    const { name } = this
    const how = `Run \`bulkhead mcp login ${name}\`.`
    const message = `The MCP server "${name}" requires a sign-in${what && ` ${this.#clean(what)}`}. ${how}`
    return new BulkheadError('SignInRequired', message, { data: { server: name } })
  }

  signInFailed(error: unknown): BulkheadError {
    const { name } = this
    const message = `The sign-in to the MCP server "${name}" failed: ${this.#clean(reasonOf(error))}`
    return new BulkheadError('SignInFailed', message.endsWith('.') ? message : `${message}.`, { data: { server: name } })
  }

  refreshFailed(error: unknown): BulkheadError {
    const { name } = this
    const message = `${unavailable(name)}: its token could not be refreshed: ${this.#clean(reasonOf(error))}`
    return new BulkheadError('ServerUnavailable', message, { data: { server: name } })
  }

  get #known(): ReadonlyMap<string, string> {
    return new Map(this.#secrets.map(([what, value], index) => [`${what} ${index + 1}`, value]))
  }

  #clean(text: string): string {
    return cut(visibleText(redactorOf(this.#known)(text)), MESSAGE_CHARS)
  }
}

/** A network error tells its reason in its cause. */
const reasonOf = (error: unknown): string => {
  const { cause } = error as { readonly cause?: unknown }
  return cause instanceof Error ? `${messageOf(error)} ${messageOf(cause)}` : messageOf(error)
}

/** A trailing slash makes no difference. */
export const isSameIssuer = (one: string, other: string): boolean => one.replace(/\/$/, '') === other.replace(/\/$/, '')
