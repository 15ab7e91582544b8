import { describe, expect, it } from 'vitest'
import { operation, schemaOf } from './read.ts'

const inQuery = (name: string, more: object = {}) => ({ name, in: 'query', schema: { type: 'string' }, ...more })

describe('parameters', () => {
  it('become arguments with schema, place and style', () => {
    const api = operation({ parameters: [
      inQuery('q', { description: 'What to look for.', required: true }),
      inQuery('filter[name]', { style: 'deepObject', explode: true }),
      inQuery('pipes', { style: 'pipeDelimited' }), { name: 'X-Tag', in: 'header', schema: { type: 'integer' } },
      { name: 'where', in: 'query', content: { 'application/json': { schema: { type: 'object' } } } },
    ] }, {}, 'get')
    expect(schemaOf(api)).toEqual({
      type: 'object', required: ['id', 'q'], additionalProperties: false,
      properties: {
        id: { type: 'string' }, q: { type: 'string', description: 'What to look for.' },
        filter_name_: { type: 'string' }, pipes: { type: 'string' },
        'X-Tag': { type: 'integer' }, where: { type: 'object' },
      },
    })
    expect(api.operations[0]!.parameters).toEqual([
      { argument: 'id', name: 'id', in: 'path', style: 'simple', explode: false, json: false, reserved: false },
      { argument: 'q', name: 'q', in: 'query', style: 'form', explode: true, json: false, reserved: false },
      {
        argument: 'filter_name_', name: 'filter[name]', in: 'query', style: 'deepObject', explode: true, json: false,
        reserved: false,
      },
      {
        argument: 'pipes', name: 'pipes', in: 'query', style: 'pipeDelimited', explode: false, json: false,
        reserved: false,
      },
      { argument: 'X-Tag', name: 'X-Tag', in: 'header', style: 'simple', explode: false, json: false, reserved: false },
      { argument: 'where', name: 'where', in: 'query', style: 'simple', explode: false, json: true, reserved: false },
    ])
  })

  it('may be cookies, use the styles of paths, and have text as content', () => {
    const { operations: [go] } = operation({ parameters: [
      { name: 'id', in: 'path', required: true, style: 'matrix', explode: true, schema: { type: 'array' } },
      { name: 'sid', in: 'cookie', required: true, schema: { type: 'string' } },
      { name: 'csv', in: 'query', content: { 'text/csv': {} } },
    ] })
    expect(go!.parameters).toMatchObject([
      { style: 'matrix', explode: true }, { in: 'cookie', style: 'form', explode: true },
      { style: 'form', json: false },
    ])
    expect(go!.inputSchema['required']).toEqual(['id', 'sid'])
  })

  it('get their place as a prefix if they have the same name', () => {
    expect(Object.keys(schemaOf(operation({ parameters: [inQuery('id')] }))['properties'] as object)).toEqual([
      'id', 'query_id',
    ])
    expect(
      operation({ parameters: [inQuery('id'), inQuery('query_id'), inQuery('a b'), inQuery('a:b'), inQuery('a;b')] })
        .faults,
    ).toHaveLength(1)
  })

  it('come from the operation before its path; connection headers are ignored', () => {
    const api = operation({ parameters: [
      { name: 'id', in: 'path', required: true, schema: { type: 'integer' } },
      { name: 'Authorization', in: 'header', schema: {} }, { name: 'Content-Type', in: 'header', schema: {} },
    ] })
    expect(schemaOf(api)['properties']).toEqual({ id: { type: 'integer' } })
  })

  it.each([
    ['a cookie with an invalid name', { name: 'a;b', in: 'cookie' }],
    ['an unsupported style', inQuery('q', { style: 'simple' })],
    ['a query in matrix style', inQuery('q', { style: 'matrix' })],
    ['no place', { name: 'q' }], ['an unknown place', { name: 'q', in: 'body' }],
    ['no name', { in: 'query' }], ['a header name with a line break', { name: 'a\r\nb', in: 'header' }],
    ['an external reference', { $ref: 'other.yaml#/q' }],
    ['an unsupported media type', { name: 'q', in: 'query', content: { 'application/xml': {} } }], ['a string', 'q'],
  ])('reject the operation: %s', (_, parameter) => {
    const api = operation({ parameters: [parameter] })
    expect([api.operations.length, api.faults.length]).toEqual([0, 1])
  })
})

describe('bodies', () => {
  const body = (content: object, required = true) => operation({ requestBody: { required, content } })
  it('use the preferred media type', () => {
    const formOf = (content: object) => body(content).operations[0]?.body
    expect(
      formOf({ 'text/plain': {}, 'application/x-www-form-urlencoded': {}, 'application/json; charset=utf-8': {} }),
    ).toMatchObject({ form: 'json', mediaType: 'application/json' })
    expect(formOf({ 'application/merge-patch+json': {} })).toMatchObject({
      form: 'json', mediaType: 'application/merge-patch+json',
    })
    expect(formOf({ '*/*': {} })).toMatchObject({ form: 'json', mediaType: 'application/json' })
    expect(formOf({ 'text/csv': {}, 'application/x-www-form-urlencoded': {} })).toMatchObject({ form: 'urlencoded' })
    expect(formOf({ 'text/csv': {} })).toMatchObject({ form: 'text', mediaType: 'text/csv' })
    expect(formOf({ 'multipart/form-data': {}, 'text/csv': {} })).toMatchObject({ form: 'multipart' })
    expect(formOf({ 'application/xml': { schema: { type: 'object' } } })).toMatchObject({ form: 'text' })
    expect(formOf({ 'application/octet-stream': {} })).toMatchObject({ form: 'binary' })
    const file = { schema: { type: 'string', format: 'binary' } }
    expect(formOf({ '*/*': file })).toMatchObject({ form: 'binary', mediaType: '*/*' })
    expect(body({ 'multipart/related': {} }).faults).toEqual([
      expect.stringContaining('with an unsupported media type'),
    ])
  })
})

it('multipart forms describe files and parts', () => {
  const binary = { type: 'string', format: 'binary', description: 'The picture.' }
  const form = {
    allOf: [{ $ref: '#/components/schemas/Form' }, { properties: { more: { type: 'array', items: binary } } }],
  }
  const Form = {
    type: 'object', required: ['file'],
    properties: {
      file: { $ref: '#/components/schemas/Picture' }, name: { type: 'string' }, meta: { type: 'object' },
      raw: { contentMediaType: 'image/png' },
      coded: { type: 'string', contentMediaType: 'image/png', contentEncoding: 'base64' },
    },
  }
  const encoding = {
    file: { contentType: 'image/png, image/jpeg' }, name: { contentType: 'text/plain' },
    meta: { style: 'deepObject', explode: true }, more: { headers: {} },
  }
  const api = operation({ requestBody: { content: { 'multipart/form-data': { schema: form, encoding } } } }, {
    components: { schemas: { Form, Picture: binary } },
  })
  expect(api.operations[0]!.body!.fields).toEqual({
    file: { style: 'file', mediaType: 'image/png' }, name: { style: 'text', mediaType: 'text/plain' },
    meta: { style: 'deepObject', explode: true, reserved: false }, raw: { style: 'file' }, more: { style: 'file' },
  })
  const { allOf: [own, added] } = (schemaOf(api)['properties'] as { body: { allOf: object[] } }).body
  expect(own).toMatchObject({
    required: ['file'],
    properties: { file: { type: 'object', properties: { text: {}, base64: {} } }, coded: { type: 'string' } },
  })
  expect(added).toMatchObject({ properties: { more: { type: 'array', items: { type: 'object' } } } })
})

describe('form fields', () => {
  const form = (properties: object, encoding: object, components: object = {}) =>
    operation(
      {
        requestBody: {
          content: { 'application/x-www-form-urlencoded': { schema: { type: 'object', properties }, encoding } },
        },
      },
      { components: { schemas: components } },
    )
  const fieldsOf = (properties: object, encoding: object) => form(properties, encoding).operations[0]?.body?.fields

  it('use the encoding of the document, with its defaults', () => {
    const any = { a: {}, b: {}, c: {}, d: {}, e: {}, f: {} }
    expect(
      fieldsOf(any, {
        a: { style: 'deepObject' }, b: { explode: false }, c: { style: 'pipeDelimited' },
        d: { contentType: 'application/json; charset=utf-8' }, e: { contentType: 'text/plain' }, f: { headers: {} },
        g: { allowReserved: true, contentType: 'image/png' },
      }),
    ).toEqual({
      a: { style: 'deepObject', explode: false, reserved: false },
      b: { style: 'form', explode: false, reserved: false },
      c: { style: 'pipeDelimited', explode: false, reserved: false }, d: { style: 'json' }, e: { style: 'text' },
      g: { style: 'form', explode: true, reserved: true },
    })
  })

  it.each<readonly [string, object, object]>([
    ['an unsupported style', {}, { style: 'matrix' }], ['an unsupported media type', {}, { contentType: 'image/png' }],
    ['an object as text', { type: 'object' }, { contentType: 'text/plain' }],
    [
      'a list of objects in a style without nesting', { type: 'array', items: { $ref: '#/components/schemas/Part' } },
      { style: 'form' },
    ],
    [
      'an object of lists in a style without nesting', { type: 'object', properties: { x: { type: 'array' } } },
      { style: 'form', explode: true },
    ],
    ['an invalid encoding', {}, 7 as never],
  ])('reject the operation and name the field: %s', (_, schema, encoding) => {
    const api = form({ f: schema }, { f: encoding }, { Part: { type: 'object' } })
    expect([api.operations, api.faults]).toEqual([[], [expect.stringContaining('has a form field "f" ')]])
  })

  it('require an object schema', () => {
    expect(
      operation({ requestBody: { content: { 'application/x-www-form-urlencoded': { schema: { type: 'array' } } } } })
        .faults,
    ).toEqual([expect.stringContaining('not an object')])
  })
})

it('an operation has at most 128 parameters, and a chain of at most 16 references', () => {
  const many = (length: number) => operation({
    parameters: Array.from({ length }, (_, index) => ({ name: `p${index}`, in: 'query', schema: {} })),
  })
  expect(many(127).operations).toHaveLength(1)
  expect(many(128).faults).toEqual([expect.stringContaining('has more than 128 parameters')])
  const at = (index: number) => ({ $ref: `#/components/parameters/p${index}` })
  const chain = (length: number) => operation({ parameters: [at(0)] }, {
    components: { parameters: Object.fromEntries(Array.from({ length }, (_, index) =>
      [`p${index}`, index + 1 < length ? at(index + 1) : { name: 'q', in: 'query', schema: {} }])) },
  })
  expect(chain(15).operations).toHaveLength(1)
  expect(chain(16).faults).toEqual([expect.stringContaining('has a circular reference')])
})
