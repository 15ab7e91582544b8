import { type AnyRuntime, ToolError } from '@bulkhead/contract/author'
import { isJsonObject } from '@bulkhead/kit/json'
import type { Credential, OauthClient } from '../credentials.ts'
import type { OutgoingRequest } from './request.ts'
import { escaped } from './styles.ts'

/** The runtime of a call. The network policy of any tool applies, and secrets are only handles. */
export type CallRuntime = Required<Pick<AnyRuntime, 'net'>> & Pick<AnyRuntime, 'secrets'>

export interface AuthorizedRequest extends OutgoingRequest {
  /** The URL without credentials, for people. */
  readonly shownUrl: string
  /** Tokens that were sent. The broker does not know them, so the caller redacts them. */
  readonly tokens: readonly string[]
}

/** Adds credentials to a request. They replace parameters of the same name from the document or the model. */
export async function authorize(
  request: OutgoingRequest, credentials: readonly Credential[], runtime: CallRuntime, tokens: OauthTokens,
): Promise<AuthorizedRequest> {
  const headers = new Map(request.headers)
  const query = new Map<string, string>()
  const cookies = new Map<string, string>()
  const sent: string[] = []
  for (const credential of credentials) {
    if (credential.kind === 'oauth2') {
      const token = await tokens.get(credential, runtime)
      sent.push(token)
      headers.set('authorization', `Bearer ${token}`)
      continue
    }
    const handle = await runtime.secrets!.handle(credential.secret)
    switch (credential.kind) {
      case 'bearer':
        headers.set('authorization', `Bearer ${handle}`)
        break
      case 'basic': {
        const { username } = credential
        headers.set('authorization', username === undefined ? `Basic ${handle}:` : `Basic ${username}:${handle}`)
        break
      }
      case 'apiKey': {
        const { in: place, parameter } = credential
        if (place === 'header') headers.set(parameter.toLowerCase(), handle)
        else (place === 'query' ? query : cookies).set(parameter, handle)
      }
    }
  }
  const cookie = [...withoutNames(headers.get('cookie'), '; ', cookies), ...pairs(cookies)].join('; ')
  if (cookie !== '') headers.set('cookie', cookie)
  const [, bare, written] = /^([^?]*)\??(.*)$/s.exec(request.url)!
  const own = withoutNames(written, '&', query)
  const urlWith = (all: readonly string[]): string => all.length === 0 ? bare! : `${bare}?${all.join('&')}`
  return {
    ...request, headers, url: urlWith([...own, ...pairs(query, escaped)]), shownUrl: urlWith(own), tokens: sent,
  }
}

const pairs = (values: ReadonlyMap<string, string>, escape = (name: string): string => name): readonly string[] =>
  [...values].map(([name, value]) => `${escape(name)}=${value}`)

function withoutNames(
  text: string | undefined, separator: string, replaced: ReadonlyMap<string, string>,
): readonly string[] {
  const names = new Set([...replaced.keys()].flatMap((name) => [name, escaped(name)]))
  return (text ?? '').split(separator).filter((pair) => pair !== '' && !names.has(pair.split('=')[0]!))
}

/** Fetched again this long before a token expires. */
const SLACK_MS = 30_000
/** The life of a token whose server does not tell. */
const DEFAULT_MS = 300_000
const LONGEST_MS = 24 * 60 * 60 * 1_000
const MOST_BYTES = 64 * 1024
const TOKEN = /^[\x21-\x7e]{1,8192}$/

interface Token {
  readonly text: string
  readonly until: number
}

/** The tokens of one document, in memory until they expire. No tool, result or record contains them. */
export class OauthTokens {
  readonly #tokens = new Map<string, Token>()

  /** Throws ToolExecutionFailed if the server gives no token. */
  async get(client: OauthClient, runtime: CallRuntime): Promise<string> {
    const key = keyOf(client)
    const known = this.#tokens.get(key)
    if (known !== undefined && known.until > Date.now()) return known.text
    const token = await fetchToken(client, runtime)
    this.#tokens.set(key, token)
    return token.text
  }

  /** After a server has rejected them. */
  forget(credentials: readonly Credential[]): void {
    for (const one of credentials) if (one.kind === 'oauth2') this.#tokens.delete(keyOf(one))
  }
}

const keyOf = ({ tokenUrl, clientId, secret, scopes }: OauthClient): string =>
  JSON.stringify([tokenUrl, clientId, secret, scopes])

async function fetchToken({ tokenUrl, clientId, secret, scopes }: OauthClient, runtime: CallRuntime): Promise<Token> {
  const { host } = new URL(tokenUrl)
  const refuse = (why: string): ToolError =>
    new ToolError('ToolExecutionFailed', `The token server ${host} ${why}.`, { host })
  const scope = scopes.length === 0 ? '' : `&scope=${escaped(scopes.join(' '))}`
  const response = await runtime.net.fetch(tokenUrl, {
    method: 'POST', redirect: 'manual', body: `grant_type=client_credentials${scope}`,
    headers: {
      'accept': 'application/json', 'content-type': 'application/x-www-form-urlencoded',
      'authorization': `Basic ${clientId}:${await runtime.secrets!.handle(secret)}`,
    },
  })
  if (response.status !== 200) throw refuse(`refused the client with status ${response.status}`)
  const pieces: Uint8Array[] = []
  for await (const piece of response.body) {
    pieces.push(piece)
    if (pieces.reduce((sum, { length }) => sum + length, 0) > MOST_BYTES) throw refuse('sent too much')
  }
  const { access_token: text, token_type: type, expires_in: seconds } = parsed(Buffer.concat(pieces).toString())
  if (typeof text !== 'string' || !TOKEN.test(text) || !/^bearer$/i.test(typeof type === 'string' ? type : 'bearer')) {
    throw refuse('sent no bearer token')
  }
  const lifeMs = typeof seconds === 'number' && seconds >= 0 ? seconds * 1_000 : DEFAULT_MS
  return { text, until: Date.now() + Math.min(lifeMs, LONGEST_MS) - SLACK_MS }
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : {}
  } catch {
    return {}
  }
}
