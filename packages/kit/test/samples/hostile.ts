import { expect } from 'vitest'

export const nested = (depth: number): unknown => depth === 0 ? 1 : [nested(depth - 1)]
const shared = (levels: number): unknown => {
  let graph: unknown = 1
  for (let level = 0; level < levels; level++) graph = [graph, graph]
  return graph
}
const cycle = () => {
  const value: { list: unknown[] } = { list: [1] }
  value.list.push({ back: value })
  return value
}
const throwing = (thrown: unknown) => new Proxy({}, { getPrototypeOf: () => { throw thrown } })
const unprintable = Object.defineProperty(new Error('x'), 'message',
  { value: { toString: () => { throw new Error('no text') } } })
export class Point {
  x = 1
}
class Rows extends Array<unknown> {}

/** Values that may not cross a boundary, each with the path and the code of its fault. */
export const HOSTILE: readonly (readonly [name: string, value: unknown, path: string, code: string])[] = [
  ['undefined', undefined, '', 'kind'],
  ['a function inside', { a: [() => 1] }, '/a/0', 'kind'],
  ['a symbol', Symbol('x'), '', 'kind'],
  ['a bigint', { n: 1n }, '/n', 'kind'],
  ['NaN', [Number.NaN], '/0', 'kind'],
  ['infinity', { a: { b: -Infinity } }, '/a/b', 'kind'],
  ['a date', { at: new Date(0) }, '/at', 'kind'],
  ['a map', new Map([['a', 1]]), '', 'kind'],
  ['bytes', { a: new Uint8Array(2) }, '/a', 'kind'],
  ['shared memory', new SharedArrayBuffer(8), '', 'kind'],
  ['an instance of a class', [new Point()], '/0', 'kind'],
  ['a boxed string', Object('text'), '', 'kind'],
  ['a promise', Promise.resolve(1), '', 'kind'],
  ['an array of a class', [new Rows()], '/0', 'kind'],
  ['an array with another prototype', Object.setPrototypeOf([1], { toJSON: () => 2 }), '', 'kind'],
  ['an array with a named property', Object.assign([1], { extra: 2 }), '', 'kind'],
  ['an array with a symbol', Object.assign([1], { [Symbol.iterator]: 1 }), '', 'kind'],
  ['a hole', [1, , 3], '/1', 'hole'], // eslint-disable-line no-sparse-arrays
  ['an enormous sparse array', { a: new Array(2 ** 31) }, '/a', 'size'],
  ['an accessor', Object.defineProperty({}, 'a', { enumerable: true, get: () => 1 }), '/a', 'kind'],
  ['an accessor in an array', Object.defineProperty([0], 0, { get: () => 1 }), '/0', 'kind'],
  ['a hidden property', Object.defineProperty({}, 'a', { value: 1 }), '/a', 'kind'],
  ['a symbol as a key', { [Symbol('x')]: 1 }, '', 'key'],
  ['an own __proto__', JSON.parse('{"a":{"__proto__":{"admin":true}}}'), '/a/__proto__', 'key'],
  ['half a surrogate pair in a string', { a: ['ok', 'x\ud800'] }, '/a/1', 'text'],
  ['half a surrogate pair in a key', { '\udc00': 1 }, '/\udc00', 'text'],
  ['a cycle', cycle(), '/list/1/back', 'cycle'],
  ['a key to escape', { 'a/b~c': undefined }, '/a~1b~0c', 'kind'],
  ['depth', nested(65), '/0'.repeat(64), 'depth'],
  ['a graph shared 40 levels deep', shared(40), expect.stringMatching(/^(?:\/[01]){40}$/) as unknown as string, 'size'],
  ['a proxy that throws', { a: throwing(new Error('boom')) }, '/a', 'kind'],
  ['a proxy that throws an unprintable value', throwing(Object.create(null)), '', 'kind'],
  ['a proxy that throws an unprintable error', throwing(unprintable), '', 'kind'],
  [
    'a revoked proxy', (() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return [proxy] })(), '/0',
    'kind',
  ],
]
