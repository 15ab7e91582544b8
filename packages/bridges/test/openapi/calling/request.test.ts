import type { Json, JsonObject } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { requestOf } from '../../../src/openapi/calling/request.ts'
import type { DescribedBody, DescribedOperation, DescribedParameter } from '../../../src/openapi/reading/described.ts'

const BASE = 'https://shop.example/v1'
const sent = (args: JsonObject, more: Partial<DescribedOperation>) =>
  requestOf({ operationId: 'go', method: 'POST', path: '/x', label: '', description: '', inputSchema: {}, parameters: [], body: null, ...more }, BASE, args)
const parameter = (more: Partial<DescribedParameter>): DescribedParameter =>
  ({ argument: 'a', name: 'a', in: 'query', style: 'form', explode: true, json: false, ...more })
const query = (value: Json, more: Partial<DescribedParameter> = {}) => sent({ a: value }, { parameters: [parameter(more)] }).url.slice(`${BASE}/x`.length)

describe('a query', () => {
  it.each<readonly [Json, Partial<DescribedParameter>, string]>([
    ['b c&d=é', {}, '?a=b%20c%26d%3D%C3%A9'], [5, {}, '?a=5'], [false, {}, '?a=false'], ['', {}, '?a='], [null, {}, ''], [[], {}, ''], [{}, {}, ''],
    [['b', 'c,d'], {}, '?a=b&a=c%2Cd'], [['b', 'c,d'], { explode: false }, '?a=b,c%2Cd'],
    [['b', 'c'], { style: 'spaceDelimited', explode: false }, '?a=b%20c'], [['b', 'c'], { style: 'pipeDelimited', explode: false }, '?a=b%7Cc'],
    [{ b: 1, 'c&': '2' }, {}, '?b=1&c%26=2'], [{ b: 1, c: '2' }, { explode: false }, '?a=b,1,c,2'], [{ b: 1, c: ['2'] }, { style: 'deepObject' }, '?a%5Bb%5D=1&a%5Bc%5D=%5B%222%22%5D'],
    [{ b: [1] }, { json: true }, '?a=%7B%22b%22%3A%5B1%5D%7D'], ["!'()*", { name: "n!'" }, '?n%21%27=%21%27%28%29%2A'],
  ])('writes %j as %j', (value, more, written) => {
    expect(query(value, more)).toBe(written)
  })
})

describe('a path', () => {
  const path = (args: JsonObject, template: string, ...names: string[]) =>
    sent(args, { path: template, parameters: names.map((name) => parameter({ argument: name, name, in: 'path', style: 'simple', explode: false })) }).url.slice(BASE.length)
  it('has each value in its segment', () => {
    expect(path({ a: ['b', 'c/d'], d: { e: '..' } }, '/x/{a}.json/{d}', 'a', 'd')).toBe('/x/b,c%2Fd.json/e,..')
    expect(path({ a: '..', b: 'x' }, '/{a}{b}', 'a', 'b')).toBe('/..x')
  })
  it.each([['{a}', { a: '..' }], ['{a}', { a: '.' }], ['{a}{b}', { a: '.', b: '.' }], ['.{a}', { a: '.' }], ['{a}', { a: '' }], ['{a}', { a: [] }], ['{a}', {}]])(
    'is not led elsewhere: %s with %j', (segment, args) => {
      expect(() => path(args, `/x/${segment}/y`, 'a', 'b')).toThrow(expect.objectContaining({ code: 'InputInvalid' }))
    })
})

describe('a header', () => {
  const header = (value: Json) => sent({ a: value }, { parameters: [parameter({ name: 'X-A', in: 'header', style: 'simple' })] }).headers.get('x-a')
  it('has the value as it is', () => expect([header('b, c'), header(['b', 5]), header(null)]).toEqual(['b, c', 'b,5', undefined]))
  it.each(['a\nb', 'a\rb', 'a\0b', 'Ā'])('is not split: %j', (value) => expect(() => header(value)).toThrow(expect.objectContaining({ code: 'InputInvalid' })))
})

describe('a body', () => {
  const body = (value: Json, form: DescribedBody['form'], mediaType = 'x/y') => sent({ body: value }, { body: { argument: 'body', form, mediaType } })
  it('is written in its form', () => {
    expect(body({ a: [1] }, 'json')).toMatchObject({ body: '{"a":[1]}' })
    expect(body({ a: [1, 'b&c'], d: { e: 1 }, f: null }, 'urlencoded').body).toBe('a=1&a=b%26c&d=%7B%22e%22%3A1%7D')
    expect(body('a\nb', 'text', 'text/csv').headers.get('content-type')).toBe('text/csv')
    expect(() => body(5, 'text')).toThrow('is to be a text')
  })
  it('is left out where it is not given', () => {
    const { body: none, headers } = sent({}, { body: { argument: 'body', form: 'json', mediaType: 'application/json' } })
    expect([none, headers.has('content-type')]).toEqual([undefined, false])
  })
})
