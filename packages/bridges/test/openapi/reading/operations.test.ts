import { describe, expect, it } from 'vitest'
import { LONG } from '../../../../../scripts/thoroughly.ts'
import { readOperations } from '../../../src/openapi/reading/operations.ts'
import { ALL, document, operation, read } from './read.ts'

const plain = (operationId: string, more: object = {}) => ({ operationId, ...more })
const ids = (api: ReturnType<typeof read>) => api.operations.map(({ operationId }) => operationId)

it('describes operations, and names those without an id by method and path', () => {
  const api = read({
    '/a': {
      get: plain('one', { summary: 'Short', description: 'Long' }), post: plain('two', { summary: 'Short' }), put: {},
      delete: plain(''),
    },
    '/b': { head: plain('three') }, 'x-other': { get: plain('never') },
  }, { servers: [{ url: 'https://{host}.example/{v}', variables: { host: { default: 'api' }, v: { default: '2' } } }] })
  expect(api).toMatchObject({
    version: '1.0.0', server: 'https://api.example/2', shortened: [], faults: [], mended: [],
    operations: [
      { operationId: 'one', method: 'GET', path: '/a', label: 'Short', description: 'Long' },
      { operationId: 'two', method: 'POST', label: 'Short', description: 'Short', body: null },
      { operationId: 'put_a', method: 'PUT' }, { operationId: 'delete_a', method: 'DELETE' },
      {
        operationId: 'three', method: 'HEAD', label: 'three', description: '/b',
        inputSchema: { type: 'object', properties: {}, additionalProperties: false },
      },
    ],
  })
})

it.each([
  ['swagger', { swagger: '2.0', paths: {} }], ['a later version', { openapi: '3.2.0' }], ['a number', { openapi: 3.1 }],
  ['a list', []], ['null', null],
])('rejects %s', (_, written) => {
  expect(() => readOperations(written as never, ALL)).toThrow(/has an unsupported version|is not an object/)
})

it('gives an operation without an id a name that does not depend on the others', () => {
  expect(
    ids(
      read({
        '/': { get: {} },
        '/users/{id}/posts': {
          get: { parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }] },
        },
        '/v1.2/a-b': { delete: {} },
      }),
    ),
  ).toEqual(['get', 'get_users_by_id_posts', 'delete_v1_2_a_b'])
  const api = read({ '/a': { get: {} }, '/b': { get: plain('get_a') } })
  expect(api.operations).toMatchObject([{ operationId: 'get_a', path: '/b' }])
  expect(api.faults).toEqual(['"get_a" (GET /a) has no operationId, and another operation has that name'])
})

it('rejects operations with a duplicate id', () => {
  const api = read({
    '/a': { get: plain('same') }, '/b': { get: plain('same'), post: plain('other') }, '/c': { get: plain('same') },
  })
  expect(ids(api)).toEqual(['other'])
  expect(api.faults).toEqual(['"same" (GET /a) has the same operationId as "same" (GET /b) and "same" (GET /c)'])
})

it('combines filters, matches paths by segment, and reports an unknown id', () => {
  const paths = {
    '/pets': { get: plain('list', { tags: ['pets'] }), post: plain('add', { tags: ['pets', 'admin'] }) },
    '/pets/{x}': { get: plain('broken') }, '/petshop': { get: plain('shop', { tags: ['pets'] }) },
  }
  expect(ids(read(paths, {}, { paths: ['/pets'] }))).toEqual(['list', 'add'])
  expect(ids(read(paths, {}, { paths: ['/pets'], tags: ['admin'] }))).toEqual(['add'])
  expect(ids(read(paths, {}, { tags: ['pets'] }))).toEqual(['list', 'add', 'shop'])
  const named = read(paths, {}, { operations: ['shop', 'gone'] })
  expect([ids(named), named.faults]).toEqual([['shop'], [expect.stringContaining('there is no operation "gone"')]])
})

it('limits the number of operations and of reported faults', LONG, () => {
  const many = (more: object) => read(
    Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`/p${index}`, { get: plain(`id${index}`, more) }])),
  )
  expect(many({})).toMatchObject({
    operations: { length: 2_048 },
    faults: [expect.stringMatching(/^there are 2952 operations over the limit of 2048; .* "id2048", .*"id4999"$/)],
  })
  expect(many({ parameters: 'none' })).toMatchObject({ operations: [], faults: { length: 2_049 } })
})

describe('an operation', () => {
  it.each([
    ['a path parameter is not described', { '/x/{id}': { get: plain('go') } }],
    ['its path contains ..', { '/x/../y': { get: plain('go') } }],
    ['its path contains an encoded ..', { '/x/%2E%2e/y': { get: plain('go') } }],
    ['its path contains a query', { '/x?admin=1': { get: plain('go') } }],
    ['its path is a URL', { 'https://evil.example/x': { get: plain('go') } }],
    ['its path has invisible characters', { '/x\u202e': { get: plain('go') } }],
    ['its method is TRACE', { '/x': { trace: plain('go') } }],
    ['its path item is external', { '/x': { $ref: 'https://evil.example/paths.json' } }],
    ['its path item refers to itself', { '/x': { $ref: '#/paths/~1x' } }],
    ['it has its own servers', { '/x': { get: plain('go', { servers: [{ url: 'https://other.example' }] }) } }],
  ])('is rejected if %s', (_, paths) => {
    const api = read({ ...paths, '/good': { get: plain('good') } })
    expect([ids(api), api.faults.length]).toEqual([['good'], 1])
  })

  it('is not rejected for a fragment in its path, which is never sent', () => {
    const api = read({ '/x': { get: plain('go') }, '/x#more': { get: plain('more') } })
    expect(api.operations.map(({ path }) => path)).toEqual(['/x', '/x'])
  })

  it('is not rejected for its own servers if the configuration has a base URL', () => {
    expect(
      ids(
        read({ '/x': { get: plain('go', { servers: [{ url: 'https://other.example' }] }) } }, {}, { hasBaseUrl: true }),
      ),
    ).toEqual(['go'])
  })
})

it('reads own members only', () => {
  expect(read({ '/x': { get: plain('go', { parameters: [{ $ref: '#/constructor' }] }) } }).faults).toEqual([
    expect.stringContaining('which does not exist'),
  ])
  expect(
    readOperations(document({}, { servers: [{ url: 'https://{toString}.example', variables: {} }] }), ALL).server,
  ).toBeNull()
})

it('a body argument never replaces a parameter', () => {
  const body = { content: { 'application/json': { schema: { type: 'object' } } } }
  const inQuery = (name: string) => ({ name, in: 'query', schema: {} })
  expect(operation({ requestBody: body }).operations[0]!.body).toEqual({
    argument: 'body', form: 'json', mediaType: 'application/json', fields: {},
  })
  expect(operation({ requestBody: body, parameters: [inQuery('body')] }).operations[0]!.body).toMatchObject({
    argument: '_request_body',
  })
  expect(operation({ requestBody: body, parameters: [inQuery('body'), inQuery('_request_body')] }).faults).toHaveLength(
    1,
  )
  expect(operation({ requestBody: body }, {}, 'get').operations[0]!.body).toBeNull()
})

it('reports at most 4096 faults', () => {
  const paths = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`/p${index}`, { $ref: 'x' }]))
  expect(read(paths).faults).toHaveLength(4_096)
})

it('uses no id of more than 128 characters, and names the operations over the limit in 64 KB', () => {
  const long = 'x'.repeat(129)
  const named = read({ '/a': { get: plain(long.slice(1)) }, '/b': { get: plain(long) } })
  expect(ids(named)).toEqual([long.slice(1), 'get_b'])
  const many = Array.from({ length: 3_000 }, (_, index) => [`/p${index}`, { get: plain(`${long.slice(5)}${index}`) }])
  const { faults } = read(Object.fromEntries(many))
  expect(faults[0]!.length).toBeLessThan(66_000)
})
