import { expect, it } from 'vitest'
import { credentialsOf } from '../../src/openapi/credentials.ts'
import { read } from './reading/read.ts'

const BASE = 'https://shop.example/v1'
const SCHEMES = {
  key: { type: 'apiKey', in: 'query', name: 'api key' }, cookie: { type: 'apiKey', in: 'cookie', name: 'sid' },
  bad: { type: 'apiKey', in: 'header', name: 'a b' }, basic: { type: 'http', scheme: 'Basic' },
  bearer: { $ref: '#/components/securitySchemes/token' }, token: { type: 'http', scheme: 'bearer' },
  oidc: { type: 'openIdConnect' }, mutual: { type: 'mutualTLS' }, self: { $ref: '#/components/securitySchemes/self' },
  oauth: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: '/oauth/token' } } },
  away: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: 'https://login.example/token' } } },
  implicit: { type: 'oauth2', flows: { implicit: {} } },
}
const api = (root: object[] | undefined, ...own: readonly (object[] | undefined)[]) =>
  read(
    Object.fromEntries(
      own.map((security, at) => [`/${at}`, { get: { operationId: `op${at}`, ...(security && { security }) } }]),
    ),
    { components: { securitySchemes: SCHEMES }, ...(root && { security: root }) },
  )
const secret = 'KEY'

it('reads the schemes that can be used', () => {
  expect(api([]).schemes).toEqual([
    { name: 'key', kind: 'apiKey', in: 'query', parameter: 'api key' },
    { name: 'cookie', kind: 'apiKey', in: 'cookie', parameter: 'sid' }, { name: 'basic', kind: 'basic' },
    { name: 'bearer', kind: 'bearer' }, { name: 'token', kind: 'bearer' }, { name: 'oidc', kind: 'bearer' },
    { name: 'oauth', kind: 'oauth2', tokenUrl: '/oauth/token' },
    { name: 'away', kind: 'oauth2', tokenUrl: 'https://login.example/token' }, { name: 'implicit', kind: 'oauth2' },
  ])
})

it('chooses the first alternative of each operation whose schemes all have a credential', () => {
  const described = api(
    [{ basic: [] }], undefined, [{ key: [], cookie: [] }, { token: [] }], [{ key: [] }], [], [{}, { token: [] }],
    [{ mutual: [] }],
  )
  const { of, missing, faults } = credentialsOf({
    document: 'a', security: { basic: { secret, username: 'me' }, token: { secret }, cookie: { secret } },
  }, described, BASE)
  const basic = { kind: 'basic', secret, username: 'me' }
  expect(described.operations.map(({ operationId }) => of(operationId))).toEqual([
    [basic], [{ kind: 'bearer', secret }], [], [], [{ kind: 'bearer', secret }], [],
  ])
  expect([missing, faults]).toEqual([['op2', 'op5'], []])
  const both = credentialsOf({ document: 'a', security: { key: { secret }, cookie: { secret } } }, described, BASE)
  expect(both.of('op1')).toMatchObject([{ in: 'query', parameter: 'api key' }, { in: 'cookie', parameter: 'sid' }])
})

it('sends a client secret only where the configuration or the base URL allows', () => {
  const described = api([{ oauth: [] }], undefined, [{ away: [] }], [{ implicit: [] }])
  const client = { secret, clientId: 'me' }
  const { of, faults } = credentialsOf({
    document: 'a', security: { oauth: client, away: client, implicit: { secret }, gone: { secret } },
  }, described, BASE)
  expect(of('op0')).toEqual([
    { kind: 'oauth2', secret, clientId: 'me', tokenUrl: 'https://shop.example/oauth/token', scopes: [] },
  ])
  expect(of('op2')).toEqual([{ kind: 'bearer', secret }])
  expect(faults).toEqual([
    'has a token URL on another host than "baseUrl"; set "tokenUrl" in the configuration',
    'has no usable security scheme "gone"',
  ])
  const named = credentialsOf({
    document: 'a', security: { away: { ...client, tokenUrl: 'https://login.example/token', scopes: ['a'] } },
  }, described, BASE)
  expect(named.of('op1')).toMatchObject([{ tokenUrl: 'https://login.example/token', scopes: ['a'] }])
  const single = (auth: Parameters<typeof credentialsOf>[0]['auth']) =>
    credentialsOf({ document: 'a', auth }, described, BASE).of('any')
  expect([
    single({ type: 'apiKey', header: 'X-Key', secret }), single({ type: 'queryKey', query: 'k', secret }),
    single({ type: 'cookieKey', cookie: 'c', secret }), single({ type: 'basic', secret }),
  ]).toMatchObject([
    [{ in: 'header', parameter: 'X-Key' }], [{ in: 'query', parameter: 'k' }], [{ in: 'cookie', parameter: 'c' }],
    [{ kind: 'basic', secret }],
  ])
  expect(
    credentialsOf({ document: 'a', auth: { type: 'oauth2', ...client } }, described, BASE).of('op1'),
  ).toMatchObject([{ tokenUrl: 'https://shop.example/oauth/token' }])
})

it('reads 64 schemes, and 16 alternatives of an operation', () => {
  const bearer = { type: 'http', scheme: 'bearer' }
  const securitySchemes = Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`s${at}`, bearer]))
  const security = Array.from({ length: 17 }, (_, at) => ({ [`s${at}`]: [] }))
  const paths = { '/x': { get: { operationId: 'go', security } } }
  const { schemes, operations } = read(paths, { components: { securitySchemes } })
  expect([schemes, operations]).toMatchObject([{ length: 64 }, [{ security: { length: 16 } }]])
})
