import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openSqliteStore } from '../../src/index.ts'
import { caller, OpenapiFixture } from './fixture.ts'
import { openShop, shopDocument } from './shop.ts'

let fixture: OpenapiFixture
beforeEach(async () => {
  fixture = await OpenapiFixture.create()
})
afterEach(() => fixture.remove())

const ENV = {
  PASSWORD: 'password-of-the-shop', KEY: 'key of/the+shop', SESSION: 'session-of-the-shop',
  CLIENT: 'client-of-the-shop',
}
const SHOWN = /of-the-shop|of\/the\+shop|of%2Fthe|cGFzc3dvcmQt|token-\d-of/
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`

it('sends every kind of credential as the document requires, and shows none', async () => {
  const operation = (id: string, security: object[]) => ({
    get: {
      operationId: id, security,
      parameters: [
        { name: 'key', in: 'query', schema: {} }, { name: 'sid', in: 'cookie', schema: {} },
      ],
    },
  })
  fixture.inHome(
    shopDocument({
      paths: {
        '/both': operation('both', [{ key: [], sid: [] }]), '/basic': operation('basic', [{ other: [] }, { pass: [] }]),
        '/free': operation('free', []), '/oauth': operation('oauth', [{ client: [] }]),
      },
      components: {
        securitySchemes: {
          key: { type: 'apiKey', in: 'query', name: 'key' }, sid: { type: 'apiKey', in: 'cookie', name: 'sid' },
          pass: { type: 'http', scheme: 'basic' }, other: { type: 'mutualTLS' },
          client: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: '/token', scopes: {} } } },
        },
      },
    }),
  )
  let tokens = 0
  fixture.answer = ({ url, headers }, response) => {
    const echo =
      url === '/token'
        ? { access_token: `token-${++tokens}-of-the-server`, token_type: 'Bearer', expires_in: 3_600 }
        : { url, headers }
    response
      .writeHead(url === '/oauth?key=stale' ? 401 : 200, { 'content-type': 'application/json' })
      .end(JSON.stringify(echo))
  }
  const security = {
    key: { secret: 'KEY' }, sid: { secret: 'SESSION' }, pass: { secret: 'PASSWORD', username: 'me' },
    client: { secret: 'CLIENT', clientId: 'agent', scopes: ['read', 'write'] },
  }
  fixture.configure({ shop: { document: 'shop.json', baseUrl: fixture.shop.url, security } })
  const store = await openSqliteStore({ file: join(fixture.home, 'bulkhead.db') })
  const host = await fixture.open({ env: ENV, store, config: { audit: { enabled: true, arguments: true } } })
  expect(host.diagnostics).toEqual([])
  const events: unknown[] = []
  host.on((event) => void events.push(event))
  const call = await caller(host)
  const sent = async (name: string, args: object = {}) => {
    const outcome = await call(name, args)
    expect(outcome, name).toMatchObject({ type: 'output' })
    return { outcome, ...fixture.shop.seen.at(-1)! }
  }
  const both = await sent('both', { key: 'mine', sid: 'mine' })
  expect([both.url, both.headers.cookie]).toEqual(['/both?key=key%20of%2Fthe%2Bshop', 'sid=session-of-the-shop'])
  expect(both.outcome).toMatchObject({ details: { url: `${fixture.shop.url}/both` } })
  const withPassword = await sent('basic')
  expect(withPassword.headers.authorization).toBe(basic('me:password-of-the-shop'))
  const free = await sent('free', { key: 'mine' })
  expect([free.url, free.headers.authorization]).toEqual(['/free?key=mine', undefined])

  const first = await sent('oauth')
  expect(first.headers.authorization).toBe('Bearer token-1-of-the-server')
  expect(fixture.shop.seen.at(-2)).toMatchObject({
    method: 'POST', url: '/token', body: 'grant_type=client_credentials&scope=read%20write',
    headers: { authorization: basic('agent:client-of-the-shop') },
  })
  const stale = await sent('oauth', { key: 'stale' })
  expect([stale.headers.authorization, tokens]).toEqual(['Bearer token-1-of-the-server', 1])
  expect((await sent('oauth')).headers.authorization).toBe('Bearer token-2-of-the-server')

  await host.flush()
  const kept = globSync('bulkhead.db*', { cwd: fixture.home })
    .map((file) => readFileSync(join(fixture.home, file), 'latin1'))
    .join('')
  const shown = JSON.stringify([
    both.outcome, withPassword.outcome, first.outcome, stale.outcome, events, host.diagnostics, host.tools(),
  ])
  expect(shown).toContain('[REDACTED]')
  expect(SHOWN.exec(shown + kept)?.[0]).toBeUndefined()
})

it('fetches a token only from the named server, and names it when there is none', async () => {
  const login = await openShop((_, response) =>
    response.writeHead(302, { location: '/elsewhere' }).end('client-of-the-shop'),
  )
  try {
    fixture.inHome(shopDocument())
    const auth = { type: 'oauth2', clientId: 'agent', tokenUrl: `${login.url}/token`, secret: 'CLIENT' } as const
    fixture.configure({
      shop: { document: 'shop.json', baseUrl: fixture.shop.url, auth },
      other: {
        document: 'shop.json', prefix: 'other', baseUrl: fixture.shop.url,
        auth: { type: 'oauth2', clientId: 'agent', secret: 'CLIENT' },
      },
    })
    const host = await fixture.open({ env: ENV })
    expect(host.diagnostics).toMatchObject([
      { code: 'ConfigInvalid', path: '/openapi/other', message: expect.stringContaining('has no token URL') },
    ])
    expect(host.tool('getOrder')!.requires).toEqual({
      net: { hosts: [fixture.shop, login].map(({ url }) => url.slice('http://'.length)) },
    })
    const call = await caller(host)
    expect(await call('getOrder', { id: '1' })).toMatchObject({
      error: { code: 'ToolExecutionFailed' },
      error_text: expect.stringContaining(
        `token server ${login.url.slice('http://'.length)} refused the client with status 302`,
      ),
    })
    expect([login.seen.length, fixture.shop.seen.length]).toEqual([1, 0])
  } finally {
    await login.close()
  }
})

it('fetches a token again half a minute before it expires', async () => {
  let lifeSeconds = 29
  let tokens = 0
  fixture.answer = ({ url }, response) => {
    const token = { access_token: `token-${++tokens}`, token_type: 'Bearer', expires_in: lifeSeconds }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(url === '/token' ? token : {}))
  }
  fixture.inHome(shopDocument())
  const auth = { type: 'oauth2', clientId: 'agent', tokenUrl: `${fixture.shop.url}/token`, secret: 'CLIENT' } as const
  fixture.configure({ shop: { document: 'shop.json', baseUrl: fixture.shop.url, auth } })
  const call = await caller(await fixture.open({ env: ENV }))
  const requested = async (): Promise<number> => {
    expect(await call('getOrder', { id: '1' })).toMatchObject({ type: 'output' })
    return fixture.shop.seen.filter(({ url }) => url === '/token').length
  }
  expect([await requested(), await requested()]).toEqual([1, 2])
  lifeSeconds = 3_600
  expect([await requested(), await requested()]).toEqual([3, 3])
})
