import type { Json, JsonObject } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { requestOf } from '../../../src/openapi/calling/request.ts'
import type {
  DescribedBody, DescribedOperation, DescribedParameter,
} from '../../../src/openapi/reading/api-description.ts'

const BASE = 'https://shop.example/v1'
const sent = (args: JsonObject, more: Partial<DescribedOperation>) =>
  requestOf(
    {
      operationId: 'go', method: 'POST', path: '/x', label: '', description: '', inputSchema: {}, parameters: [],
      body: null, security: [], ...more,
    },
    BASE, args,
  )
const parameter = (more: Partial<DescribedParameter>): DescribedParameter =>
  ({ argument: 'a', name: 'a', in: 'query', style: 'form', explode: true, json: false, reserved: false, ...more })
const query = (value: Json, more: Partial<DescribedParameter> = {}) =>
  sent({ a: value }, { parameters: [parameter(more)] }).url.slice(`${BASE}/x`.length)

describe('a query', () => {
  it.each<readonly [Json, Partial<DescribedParameter>, string]>([
    ['b c&d=é', {}, '?a=b%20c%26d%3D%C3%A9'],
    [5, {}, '?a=5'], [false, {}, '?a=false'], ['', {}, '?a='], [null, {}, ''],
    [[], {}, ''], [{}, {}, ''],
    [['b', 'c,d'], {}, '?a=b&a=c%2Cd'], [['b', 'c,d'], { explode: false }, '?a=b,c%2Cd'],
    [['b', 'c'], { style: 'spaceDelimited', explode: false }, '?a=b%20c'],
    [['b', 'c'], { style: 'pipeDelimited', explode: false }, '?a=b%7Cc'],
    [{ b: 1, 'c&': '2' }, {}, '?b=1&c%26=2'], [{ b: 1, c: '2' }, { explode: false }, '?a=b,1,c,2'],
    [{ b: 1, c: ['2'] }, { style: 'deepObject' }, '?a%5Bb%5D=1&a%5Bc%5D%5B0%5D=2'],
    [{ b: { c: [{ d: 1 }, { d: null }] } }, { style: 'deepObject' }, '?a%5Bb%5D%5Bc%5D%5B0%5D%5Bd%5D=1'],
    [['b', 'c'], { style: 'deepObject' }, '?a%5B0%5D=b&a%5B1%5D=c'], ['b', { style: 'deepObject' }, '?a=b'],
    ['b/c:d?e%2F%', { reserved: true }, '?a=b/c:d?e%2F%25'], ['b&c=d#e+f', { reserved: true }, '?a=b%26c%3Dd%23e%2Bf'],
    [{ b: [1] }, { json: true }, '?a=%7B%22b%22%3A%5B1%5D%7D'], ["!'()*", { name: "n!'" }, '?n%21%27=%21%27%28%29%2A'],
  ])('serializes %j with %j', (value, more, written) => {
    expect(query(value, more)).toBe(written)
  })
})

describe('a path', () => {
  const path = (args: JsonObject, template: string, ...names: string[]) =>
    sent(args, {
      path: template,
      parameters: names.map((name) => parameter({ argument: name, name, in: 'path', style: 'simple', explode: false })),
    }).url.slice(BASE.length)
  it('keeps each value in its segment', () => {
    expect(path({ a: ['b', 'c/d'], d: { e: '..' } }, '/x/{a}.json/{d}', 'a', 'd')).toBe('/x/b,c%2Fd.json/e,..')
    expect(path({ a: '..', b: 'x' }, '/{a}{b}', 'a', 'b')).toBe('/..x')
  })
  it.each([
    ['{a}', { a: '..' }], ['{a}', { a: '.' }], ['{a}{b}', { a: '.', b: '.' }], ['.{a}', { a: '.' }], ['{a}', { a: '' }],
    ['{a}', { a: [] }], ['{a}', {}],
  ])('rejects a value that would change it: %s with %j', (segment, args) => {
    expect(() => path(args, `/x/${segment}/y`, 'a', 'b')).toThrow(expect.objectContaining({ code: 'InputInvalid' }))
  })
})

it('cookies are escaped and separate', () => {
  const cookie = (value: Json, more: Partial<DescribedParameter> = {}) =>
    sent(
      { a: value, b: 1 },
      { parameters: [parameter({ in: 'cookie', ...more }), parameter({ in: 'cookie', argument: 'b', name: 'b' })] },
    ).headers.get('cookie')
  expect([cookie('x; y=z'), cookie(null), cookie(['x', 'y']), cookie({ c: 1 }, { json: true })]).toEqual([
    'a=x%3B%20y%3Dz; b=1', 'b=1', 'a=x; a=y; b=1', 'a=%7B%22c%22%3A1%7D; b=1',
  ])
})

describe('a header', () => {
  const header = (value: Json) =>
    sent({ a: value }, { parameters: [parameter({ name: 'X-A', in: 'header', style: 'simple' })] }).headers.get('x-a')
  it('contains the value', () => {
    expect([header('b, c'), header(['b', 5]), header(null)]).toEqual(['b, c', 'b,5', undefined])
  })
  it.each(['a\nb', 'a\rb', 'a\0b', 'Ā'])(
    'rejects %j', (value) => expect(() => header(value)).toThrow(expect.objectContaining({ code: 'InputInvalid' })),
  )
})

describe('a body', () => {
  const body = (value: Json, form: DescribedBody['form'], mediaType = 'x/y', fields: DescribedBody['fields'] = {}) =>
    sent({ body: value }, { body: { argument: 'body', form, mediaType, fields } })
  it('is serialized by its media type', () => {
    expect(body({ a: [1] }, 'json')).toMatchObject({ body: '{"a":[1]}' })
    expect(body({ a: [1, 'b&c'], d: { e: 1 }, f: null }, 'urlencoded').body).toBe('a=1&a=b%26c&d=%7B%22e%22%3A1%7D')
    expect(body('a\nb', 'text', 'text/csv').headers.get('content-type')).toBe('text/csv')
    expect(() => body(5, 'text')).toThrow('must be a string')
  })
  it('encodes each form field as the document requires', () => {
    const styled = (style: 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject', explode = true) =>
      ({ f: { style, explode, reserved: false } })
    const form = (value: Json, fields: DescribedBody['fields']) => body({ f: value }, 'urlencoded', 'x/y', fields).body
    expect(form({ a: 1, b: { c: ['x', 'y'] } }, styled('deepObject'))).toBe(
      'f%5Ba%5D=1&f%5Bb%5D%5Bc%5D%5B0%5D=x&f%5Bb%5D%5Bc%5D%5B1%5D=y',
    )
    expect(form([{ a: 1 }, { a: 2 }], styled('deepObject'))).toBe('f%5B0%5D%5Ba%5D=1&f%5B1%5D%5Ba%5D=2')
    expect(form(['x', 'y'], styled('form', false))).toBe('f=x,y')
    expect(form(['x', 'y'], styled('pipeDelimited', false))).toBe('f=x%7Cy')
    expect(form({ a: 1, b: 2 }, styled('form'))).toBe('a=1&b=2')
    expect(form(['x', 1], { f: { style: 'json' } })).toBe('f=%5B%22x%22%2C1%5D')
    expect(form('x', { f: { style: 'json' } })).toBe('f=%22x%22')
    expect(form(5, { f: { style: 'text' } })).toBe('f=5')
    expect(form('a/b', { f: { style: 'form', explode: true, reserved: true } })).toBe('f=a/b')
    expect(form('', styled('deepObject'))).toBe('f=')
  })
  it.each<readonly [string, Json, DescribedBody['fields']]>([
    ['a name with brackets', { 'a][b': 1 }, { f: { style: 'deepObject', explode: true, reserved: false } }],
    ['an object inside a list', [{ a: 1 }], { f: { style: 'form', explode: true, reserved: false } }],
    ['an object as text', { a: 1 }, { f: { style: 'text' } }],
  ])('rejects %s, which its encoding does not support', (_, value, fields) => {
    expect(() => body({ f: value }, 'urlencoded', 'x/y', fields)).toThrow(
      expect.objectContaining({ code: 'InputInvalid' }),
    )
    expect(() => body([value], 'urlencoded', 'x/y', fields)).toThrow('must be an object')
  })
  it('is a file, as text or base64', () => {
    const raw = (value: Json, mediaType = 'image/png') => {
      const { body: content, headers } = body(value, 'binary', mediaType)
      return `${headers.get('content-type')} ${Buffer.from(content as Uint8Array).toString('latin1')}`
    }
    expect(raw({ text: 'å' })).toBe('image/png Ã¥')
    expect(raw({ base64: 'AP8=\n', content_type: 'image/gif' }, 'image/*')).toBe('image/gif \0ÿ')
    expect(raw({ text: '' }, '*/*')).toBe('application/octet-stream ')
    for (const wrong of [
      {}, { text: 'a', base64: 'YQ==' }, { base64: 'a b!' }, { text: 'a', content_type: 'a/b\r\nx: y' }, 'text',
    ]) {
      expect(() => raw(wrong)).toThrow(expect.objectContaining({ code: 'InputInvalid' }))
    }
  })
  it('has parts that no name, file or value can leave', () => {
    const { body: content, headers } = body({
      'a"\r\nb': 'x\r\n--y', list: ['p', 2], meta: { k: 1 }, none: null, deep: { k: [1] }, typed: 'z',
      files: [{ text: 'f', filename: 'a"\r\n.txt' }, { text: 'g', content_type: 'text/x' }],
    }, 'multipart', 'multipart/form-data', {
      files: { style: 'file', mediaType: 'text/csv' }, deep: { style: 'deepObject', explode: true, reserved: false },
      typed: { style: 'text', mediaType: 'text/html' },
    })
    const boundary = /^multipart\/form-data; boundary=(bulkhead-[\w-]{36})$/.exec(headers.get('content-type')!)![1]!
    const head = (text: string) => `content-disposition: form-data; name="${text}`
    expect(Buffer.from(content as Uint8Array).toString().split(`--${boundary}`).map((part) => part.trim())).toEqual([
      '', `${head('a%22%0D%0Ab"')}\r\n\r\nx\r\n--y`, `${head('list"')}\r\n\r\np`, `${head('list"')}\r\n\r\n2`,
      `${head('meta"')}\r\ncontent-type: application/json\r\n\r\n{"k":1}`, `${head('deep[k][0]"')}\r\n\r\n1`,
      `${head('typed"')}\r\ncontent-type: text/html\r\n\r\nz`,
      `${head('files"; filename="a%22%0D%0A.txt"')}\r\ncontent-type: text/csv\r\n\r\nf`,
      `${head('files"; filename="file"')}\r\ncontent-type: text/x\r\n\r\ng`, '--',
    ])
  })
  it('is omitted if there is no argument', () => {
    const { body: none, headers } = sent(
      {}, { body: { argument: 'body', form: 'json', mediaType: 'application/json', fields: {} } },
    )
    expect([none, headers.has('content-type')]).toEqual([undefined, false])
  })
})
