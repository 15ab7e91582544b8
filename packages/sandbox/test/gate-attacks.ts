import { KINDS, MAX_LONG_STRINGS } from '../src/wire/message.ts'

const { call, broker } = KINDS
export const request = ({ kind = broker.request, id = 1, method = 'progress', args = ['c', 'x'] }: {
  readonly kind?: unknown
  readonly id?: unknown
  readonly method?: unknown
  readonly args?: unknown
} = {}): unknown[] => [kind, id, method, args]

/** Requests that are almost valid, and requests that plain Comlink would run, pollute prototypes with, or crash on. */
export const REQUESTS: Readonly<Record<string, unknown>> = {
  'of the constructor': request({ method: 'constructor' }),
  'of __proto__': request({ method: '__proto__' }),
  'of toString': request({ method: 'toString', args: [] }),
  'of __defineGetter__': request({ method: '__defineGetter__' }),
  'of a path': request({ method: ['progress'] }),
  'of the constructor of a method': request({ method: ['progress', 'constructor'] }),
  'of something below a method': request({ method: 'progress.constructor' }),
  'of an object with a toString that is a method name': request({ method: { toString: 'progress' } }),
  'of null': request({ method: null }),
  'of a method of compartments': request({ method: 'execute' }),
  'that constructs, in the form of Comlink': [
    'broker', { id: '1', type: 'CONSTRUCT', path: ['constructor', 'constructor'] },
  ],
  'that sets, in the form of Comlink': {
    id: '1', type: 'SET', path: ['__proto__', 'polluted'], value: { type: 'RAW', value: 1 },
  },
  'with a number for arguments': request({ args: 5 }),
  'with an object for arguments': request({ args: { length: 1, 0: 'c' } }),
  'with a string for arguments': request({ args: 'cx' }),
  'without arguments': [broker.request, 1, 'progress'],
  'with too many arguments': request({ args: Array.from({ length: 9 }, () => 1) }),
  'with a string for an id': request({ id: '1' }),
  'with an object for an id': request({ id: {} }),
  'with a fraction for an id': request({ id: 1.5 }),
  'with a negative id': request({ id: -2 }),
  'with an id that cannot become a number': request({ id: { valueOf: 1, toString: 1 } }),
  'with an id that is not a safe integer': request({ id: 2 ** 53 }),
  'with additional fields': [...request(), 'more', 'still more'],
  'with holes that are not a list': [...request(), { 0: ['x'] }],
  'with a hole that is not a path': [...request(), ['0']],
  'with an empty list of holes': [...request(), []],
  'with a hole and no string for it': [...request({ args: [null] }), [[0]]],
  'of a kind that only the host may send': request({ kind: call.request }),
  'of an unknown kind': request({ kind: 6 }),
  'of a kind that is a string': request({ kind: String(broker.request) }),
  'of a kind that is a list': request({ kind: [broker.request] }),
  'that is null': null,
  'that is empty': [],
  'that is a string': 'x',
}

export const error = (more: object = {}): object => ({ name: 'E', message: 'm', ...more })
export const nested = (depth: number): object => error(depth > 0 ? { cause: nested(depth - 1) } : {})

export const ANSWERS: Readonly<Record<string, (id: number) => unknown>> = {
  'to another request': (id) => [call.value, id + 1, 1],
  'with a string for an id': (id) => [call.value, String(id), 1],
  'with an id that cannot become a number': () => [call.value, { valueOf: 1, toString: 1 }, 1],
  'with a fraction for an id': (id) => [call.value, id + 0.5, 1],
  'with a negative id': () => [call.value, -1, 1],
  'without a value': (id) => [call.value, id],
  'with two values': (id) => [call.value, id, 1, 2],
  'of a kind that only the host may send': (id) => [broker.value, id, 1],
  'with a failure of a kind that only the host may send': (id) => [broker.failure, id, error()],
  'with a failure that is not an error': (id) => [call.failure, id, null],
  'with a failure that is a list': (id) => [call.failure, id, [error()]],
  'with an error without a message': (id) => [call.failure, id, { name: 'E' }],
  'with an error without a name': (id) => [call.failure, id, { message: 'm' }],
  'with an error with an unknown field': (id) => [call.failure, id, error({ then: 1 })],
  'with an error whose message is an object': (id) => [call.failure, id, error({ message: {} })],
  'with an error whose message is too long': (id) => [call.failure, id, error({ message: 'x'.repeat(10_001) })],
  'with an error with too many causes': (id) => [call.failure, id, nested(4)],
}

export const text = (message: unknown): string => JSON.stringify([message])
const requestText = (method: string, argument: string): string => `[[${broker.request},1,"${method}",[${argument}]]]`
const filling = (path: readonly unknown[], argument: unknown): readonly unknown[] =>
  [text([...request({ args: [argument] }), [path]]), 'x'.repeat(5_000)]

export const full = (count: number): readonly string[] => {
  const places = Array.from({ length: count }, (_, index) => [0, index])
  return [text([...request({ args: [places.map(() => null)] }), places]), ...places.map(() => 'x')]
}

const BUFFER_BYTES = 2 * 1024 * 1024

export const PACKETS: Readonly<Record<string, unknown>> = {
  'not a string': { a: 1 },
  'not JSON': '[',
  'nothing': '',
  'not a list': '{}',
  'an empty list': '[]',
  'a message without a list': '[{}]',
  'a message in the form of Comlink': '[["broker",{"id":"1","type":"APPLY","path":["progress"],"argumentList":[]}]]',
  'a key __proto__': requestText('update', '{"__proto__":1}'),
  'an escaped key __proto__': requestText('update', String.raw`{"_\u005fproto__":1}`),
  'a lone surrogate': requestText('progress', String.raw`"\ud800"`),
  'deep nesting': `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
  'arguments that are nested too deep': requestText('update', `${'['.repeat(71)}${']'.repeat(71)}`),
  'too many values': `[${'[],'.repeat(300_000)}[]]`,
  'an empty list of strings': [],
  'a list that has other values than strings': [text(request()), 5],
  'a list of strings with a hole in it': Object.assign([text(request())], { length: 3 }),
  'a list of too many strings': [text(request()), ...Array.from({ length: MAX_LONG_STRINGS + 1 }, () => '')],
  'a list of strings of the maximum length': Object.assign([text(request())], { length: 2 ** 32 - 1 }),
  'a string without a place': [text(request()), 'x'],
  'a string with a lone surrogate': [text([...request({ args: [null] }), [[0]]]), '\ud800'],
  'a string for a place that is taken': filling([0], 1),
  'a string for a place that is not there': filling([1], null),
  'a string for a prototype': filling([0, '__proto__', 'polluted'], {}),
  'a string for a constructor': filling([0, 'constructor', 'prototype', 'polluted'], {}),
  'a string for the length of a list': filling(['length'], null),
  'a string inside a string': filling([0, 0], 'x'),
  'a buffer': new ArrayBuffer(BUFFER_BYTES),
  'a buffer and a length': [new ArrayBuffer(BUFFER_BYTES), 100],
  'a shared buffer and a length': [new SharedArrayBuffer(BUFFER_BYTES), 100],
  'a smaller buffer and a length': [new ArrayBuffer(BUFFER_BYTES / 2), 100],
  'a string for a hole that is not a path': [text([...request({ args: [null] }), ['0']]), 'x'],
  'a list of one string with a list of no holes': [text([...request(), []])],
  'more holes than long strings are allowed': full(MAX_LONG_STRINGS + 1),
  'two strings for one place': [text([...request({ args: [null] }), [[0], [0]]]), 'x', 'y'],
}
