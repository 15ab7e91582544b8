import { BROKER_METHODS, DEFAULT_LIMITS } from '@bulkhead/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Gate } from '../src/main/gate.ts'
import { MAX_TEXTS } from '../src/wire/long-text.ts'
import { KINDS } from '../src/wire/message.ts'
import { codeOf, invocation, requestOf } from './fixture.ts'
import { ScriptedPeer } from './scripted-peer.ts'

const { call, broker } = KINDS
const request = ({ kind = broker.request, id = 1, method = 'progress', args = ['c', 'x'] }: {
  readonly kind?: unknown
  readonly id?: unknown
  readonly method?: unknown
  readonly args?: unknown
} = {}): unknown[] => [kind, id, method, args]

/** Near misses of a request, and what Comlink by itself would run, pollute or crash on. */
const REQUESTS: Readonly<Record<string, unknown>> = {
  'of the constructor': request({ method: 'constructor' }),
  'of __proto__': request({ method: '__proto__' }),
  'of toString': request({ method: 'toString', args: [] }),
  'of __defineGetter__': request({ method: '__defineGetter__' }),
  'of a path': request({ method: ['progress'] }),
  'of the constructor of a method': request({ method: ['progress', 'constructor'] }),
  'of something below a method': request({ method: 'progress.constructor' }),
  'of an object that would print as a method': request({ method: { toString: 'progress' } }),
  'of nothing': request({ method: null }),
  'of a method of compartments': request({ method: 'execute' }),
  'that constructs, as Comlink would say it': ['broker', { id: '1', type: 'CONSTRUCT', path: ['constructor', 'constructor'] }],
  'that sets, as Comlink would say it': { id: '1', type: 'SET', path: ['__proto__', 'polluted'], value: { type: 'RAW', value: 1 } },
  'with a number for arguments': request({ args: 5 }),
  'with an object for arguments': request({ args: { length: 1, 0: 'c' } }),
  'with a text for arguments': request({ args: 'cx' }),
  'with no arguments at all': [broker.request, 1, 'progress'],
  'with too many arguments': request({ args: Array.from({ length: 9 }, () => 1) }),
  'with a text for an id': request({ id: '1' }),
  'with an object for an id': request({ id: {} }),
  'with half an id': request({ id: 1.5 }),
  'with an id below zero': request({ id: -1 }),
  'with an id that cannot become a number': request({ id: { valueOf: 1, toString: 1 } }),
  'with an id too large to be told from others': request({ id: 2 ** 53 }),
  'with another field': [...request(), 'more', 'still more'],
  'with holes that are no list': [...request(), { 0: ['x'] }],
  'with a hole that is no path': [...request(), ['0']],
  'with no holes at all': [...request(), []],
  'with a hole and no text for it': [...request({ args: [null] }), [[0]]],
  'where only we ask': request({ kind: call.request }),
  'of no kind': request({ kind: 6 }),
  'of a kind that is a text': request({ kind: String(broker.request) }),
  'of a kind that is a list': request({ kind: [broker.request] }),
  'that is null': null,
  'that is empty': [],
  'that is a text': 'x',
}

const error = (more: object = {}): object => ({ name: 'E', message: 'm', ...more })
const nested = (depth: number): object => error(depth > 0 ? { cause: nested(depth - 1) } : {})

const ANSWERS: Readonly<Record<string, (id: number) => unknown>> = {
  'to another question': (id) => [call.value, id + 1, 1],
  'to a question by a text': (id) => [call.value, String(id), 1],
  'to a question by an object that cannot become a number': () => [call.value, { valueOf: 1, toString: 1 }, 1],
  'to a question by a fraction': (id) => [call.value, id + 0.5, 1],
  'to a question by a number below zero': () => [call.value, -1, 1],
  'without a value': (id) => [call.value, id],
  'with two values': (id) => [call.value, id, 1, 2],
  'of our own kind': (id) => [broker.value, id, 1],
  'with a failure of our own kind': (id) => [broker.failure, id, error()],
  'with a failure that is no error': (id) => [call.failure, id, null],
  'with a failure that is a list': (id) => [call.failure, id, [error()]],
  'with an error without a message': (id) => [call.failure, id, { name: 'E' }],
  'with an error that has a field errors do not have': (id) => [call.failure, id, error({ then: 1 })],
  'with an error whose message is an object': (id) => [call.failure, id, error({ message: {} })],
  'with an error whose message is too long': (id) => [call.failure, id, error({ message: 'x'.repeat(10_001) })],
  'with an error of too many causes': (id) => [call.failure, id, nested(5)],
}

const text = (message: unknown): string => JSON.stringify([message])
const requestText = (method: string, argument: string): string => `[[${broker.request},1,"${method}",[${argument}]]]`
const filling = (path: readonly unknown[], argument: unknown): readonly unknown[] =>
  [text([...request({ args: [argument] }), [path]]), 'x'.repeat(5_000)]

const ROOM_BYTES = 2 * 1024 * 1024

const PACKETS: Readonly<Record<string, unknown>> = {
  'not a text': { a: 1 },
  'not JSON': '[',
  'nothing': '',
  'not a list': '{}',
  'a list of nothing': '[]',
  'a message without a list': '[{}]',
  'a message as Comlink would say it': '[["broker",{"id":"1","type":"APPLY","path":["progress"],"argumentList":[]}]]',
  'a key __proto__': requestText('update', '{"__proto__":1}'),
  'an escaped key __proto__': requestText('update', String.raw`{"_\u005fproto__":1}`),
  'half a surrogate pair': requestText('progress', String.raw`"\ud800"`),
  'deep nesting': `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
  'too many values': `[${'[],'.repeat(300_000)}[]]`,
  'a list of no texts': [],
  'a list of something else than texts': [text(request()), 5],
  'a list of texts with a hole in it': Object.assign([text(request())], { length: 3 }),
  'a list of too many texts': [text(request()), ...Array.from({ length: MAX_TEXTS + 1 }, () => '')],
  'a list of texts that is endless': Object.assign([text(request())], { length: 2 ** 32 - 1 }),
  'a text that belongs nowhere': [text(request()), 'x'],
  'a text with half a surrogate pair': [text([...request({ args: [null] }), [[0]]]), '\ud800'],
  'a text for a place that is taken': filling([0], 1),
  'a text for a place that is not there': filling([1], null),
  'a text for a prototype': filling([0, '__proto__', 'polluted'], {}),
  'a text for a constructor': filling([0, 'constructor', 'prototype', 'polluted'], {}),
  'a text for the length of a list': filling(['length'], null),
  'a text inside a text': filling([0, 0], 'x'),
  'a room that was not handed to it': new ArrayBuffer(ROOM_BYTES),
  'a room without a frame': [new ArrayBuffer(ROOM_BYTES), 100],
  'a room of memory that is shared': [new SharedArrayBuffer(ROOM_BYTES), 100],
  'a room of another size': [new ArrayBuffer(ROOM_BYTES / 2), 100],
  'two texts for one place': [text([...request({ args: [null] }), [[0], [0]]]), 'x', 'y'],
}

describe('a compartment that sends anything but the protocol is killed, its callers told', () => {
  const attacked = async (
    attack: (peer: ScriptedPeer, question: number) => void, code = 'BoundaryViolation',
  ): Promise<void> => {
    const peer = new ScriptedPeer()
    const session = await peer.session(requestOf({ placement: 'process', source: '' }))
    const answer = codeOf(session.call(invocation()))
    attack(peer, (await peer.next('execute')).id)
    expect(await answer).toBe(code)
    expect(await session.ended).toMatchObject({ kind: 'failed', error: { code } })
    expect(peer.killed).toBe(true)
    expect('pwned' in globalThis || 'polluted' in {}).toBe(false)
  }

  it.each(Object.entries(REQUESTS))('by a request %s', async (_name, message) => attacked((peer) => peer.send(message)))
  it.each(Object.entries(ANSWERS))('by an answer %s', async (_name, answer) => attacked((peer, id) => peer.send(answer(id))))
  it.each(Object.entries(PACKETS))('by a packet that is %s', async (_name, packet) => attacked((peer) => peer.post(packet)))

  it('by two requests of one id', async () => attacked((peer) => {
    const message = request({ method: 'state.read', args: ['c'] })
    peer.send(message, message)
  }))

  it('by more requests than it may have open', async () => attacked((peer) => {
    peer.send(...Array.from({ length: DEFAULT_LIMITS.outstandingRequests + 1 }, (_, id) => request({ id })))
  }, 'TooManyRequests'))

  it('by more requests than it may send in a second, though none is open any more', async () => {
    const peer = new ScriptedPeer()
    const limits = { messagesPerSecond: 10, outstandingRequests: 10 }
    const session = await peer.session(requestOf({ placement: 'process', source: '', limits }))
    for (let id = 0; !peer.killed; id++) {
      peer.send(request({ id }))
      await Promise.race([peer.next(), session.ended])
    }
    expect(await session.ended).toMatchObject({ error: { code: 'MessageFlood', data: { limit: 'messagesPerSecond' } } })
  })

  it.each([
    ['a text that is too long', JSON.stringify('x'.repeat(DEFAULT_LIMITS.messageBytes))],
    ['texts that are too long together', [text(request()), 'x'.repeat(DEFAULT_LIMITS.messageBytes)]],
  ])('by %s', async (_name, packet) => attacked((peer) => peer.post(packet), 'MessageTooLarge'))
})

describe('a compartment that answers twice', () => {
  it('gives its caller the first answer and is killed for the second', async () => {
    const peer = new ScriptedPeer()
    const session = await peer.session(requestOf({ placement: 'process', source: '' }))
    const answer = session.call(invocation())
    const { id } = await peer.next('execute')
    peer.reply(id, 'first')
    peer.reply(id, 'second')
    expect(await answer).toBe('first')
    expect(await session.ended).toMatchObject({ kind: 'failed', error: { code: 'BoundaryViolation' } })
  })

  it('in one packet gives its caller neither', async () => {
    const peer = new ScriptedPeer()
    const session = await peer.session(requestOf({ placement: 'process', source: '' }))
    const answer = codeOf(session.call(invocation()))
    const { id } = await peer.next('execute')
    peer.send([call.value, id, 1], [call.value, id, 2])
    expect(await answer).toBe('BoundaryViolation')
  })

  it('late, after its caller gave up, is taken once and dropped', async () => {
    const peer = new ScriptedPeer()
    const session = await peer.session(requestOf({ placement: 'process', source: '', limits: { graceMs: 5_000 } }))
    const controller = new AbortController()
    const answer = codeOf(session.call(invocation({}, { signal: controller.signal })))
    const { id } = await peer.next('execute')
    controller.abort()
    expect(await answer).toBe('ToolCancelled')
    expect((await peer.next('abort')).args).toHaveLength(2)
    expect(session.inFlight).toBe(1)
    peer.reply(id, 'late')
    await expect.poll(() => session.inFlight).toBe(0)
    const next = session.call(invocation())
    peer.reply((await peer.next('execute')).id, 'on time')
    expect(await next).toBe('on time')
  })
})

describe('the gate', () => {
  const asked = (id: number): Gate => {
    const gate = new Gate(DEFAULT_LIMITS)
    gate.sent(call.request, id)
    return gate
  }

  it('lets through what the protocol allows, alone and together', () => {
    const answer = [call.value, 7, { a: [1, null] }]
    expect(asked(7).received(JSON.stringify(answer))).toEqual([answer])
    expect(asked(7).received(JSON.stringify([request(), answer]))).toEqual([request(), answer])
    const failure = [call.failure, 7, error({ code: 'X', data: {}, stack: 's', cause: error() })]
    expect(asked(7).received(JSON.stringify(failure))).toEqual([failure])
  })

  it('puts long texts in their places', () => {
    const long = 'ü'.repeat(5_000)
    const packet = [JSON.stringify([
      [...request({ method: 'update', args: ['c', { a: [null, null] }] }), [[1, 'a', 1]]],
      [call.value, 7, null, [[]]],
    ]), long, 'short']
    expect(asked(7).received(packet)).toEqual([request({ method: 'update', args: ['c', { a: [null, long] }] }), [call.value, 7, 'short']])
  })

  it('takes an id again once its request is answered', () => {
    const gate = new Gate(DEFAULT_LIMITS)
    const packet = text(request())
    gate.received(packet)
    expect(() => gate.received(packet)).toThrow('two requests of one id')
    gate.sent(broker.value, 1)
    expect(gate.received(packet)).toHaveLength(1)
  })

  it('throws nothing but violations, and admits nothing but the protocol, whatever the packet', () => {
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom<unknown>(
          0, 1, 2, 3, 4, 5, 7, '1', 'progress', 'fs.read', 'constructor', '__proto__', null, true, 'name', 'message',
        ),
        fc.array(tie('value'), { maxLength: 5 }),
        fc.dictionary(fc.constantFrom('name', 'message', 'cause', '__proto__', 'constructor'), tie('value'), { maxKeys: 4 }),
      ),
    }))
    const message = fc.oneof(
      fc.tuple(fc.constantFrom(1, 2, 3), fc.constantFrom<unknown>(7, 8), value),
      fc.tuple(fc.constantFrom(1, 2, 3), fc.constantFrom<unknown>(7, 8), fc.constantFrom('progress', 'env.get'), value),
      fc.tuple(fc.constant(3), fc.constantFrom<unknown>(7, 8), fc.constant('update'), fc.array(value), fc.array(value, { maxLength: 2 })),
      value,
    )
    const texts = fc.oneof({ arbitrary: fc.constant([]), weight: 4 }, fc.array(fc.oneof(fc.string(), value), { maxLength: 3 }))
    let admitted = 0
    fc.assert(fc.property(fc.array(message, { minLength: 1, maxLength: 2 }), texts, (messages, beside) => {
      const json = JSON.stringify(messages)
      try {
        for (const [kind, id, third, args] of asked(7).received(beside.length === 0 ? json : [json, ...beside])) {
          admitted++
          if (kind === broker.request) expect([third as string in BROKER_METHODS, Array.isArray(args)]).toEqual([true, true])
          else expect([kind === call.value || kind === call.failure, id]).toEqual([true, 7])
        }
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: 'BoundaryViolation' })
      }
    }), { numRuns: 5_000 })
    expect(admitted).toBeGreaterThan(50)
  })
})
