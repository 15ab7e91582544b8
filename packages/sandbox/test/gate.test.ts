import { DEFAULT_LIMITS } from '@bulkhead/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Gate } from '../src/main/gate.ts'
import { codeOf, invocation, requestOf } from './fixture.ts'
import { ScriptedPeer } from './scripted-peer.ts'

const raw = (value: unknown): unknown => ({ type: 'RAW', value })
const apply = (more: object): unknown =>
  ({ id: '1', type: 'APPLY', path: ['progress'], argumentList: [raw('c'), raw('x')], ...more })

const construct = (...path: readonly string[]): unknown =>
  ({ id: '1', type: 'CONSTRUCT', path, argumentList: [raw('globalThis.pwned = 1')] })
const thrown = (id: string, value: unknown): unknown => ({ id, type: 'HANDLER', name: 'throw', value })
const requestText = (method: string, argument: string): string =>
  `[["broker",{"id":"1","type":"APPLY","path":["${method}"],"argumentList":[{"type":"RAW","value":${argument}}]}]]`

/** Messages that run code, pollute, crash or open doors in a bare Comlink, and near misses of what is allowed. */
const ATTACKS: Readonly<Record<string, unknown>> = {
  'construct constructor.constructor': construct('constructor', 'constructor'),
  'construct the constructor of a method': construct('progress', 'constructor'),
  'construct through __proto__': construct('progress', '__proto__', 'constructor'),
  'construct through toString': construct('toString', 'constructor'),
  'construct through __defineGetter__': construct('__defineGetter__', 'constructor'),
  'construct through call': construct('progress', 'call', 'constructor'),
  'construct the constructor': construct('constructor'),
  'apply below a method': apply({ path: ['progress', 'constructor'] }),
  'apply __defineGetter__': apply({ path: ['__defineGetter__'] }),
  'apply toString': apply({ path: ['toString'], argumentList: [] }),
  'apply __proto__': apply({ path: ['__proto__'] }),
  'apply nothing': apply({ path: [] }),
  get: { id: '1', type: 'GET', path: ['progress'] },
  'set a prototype': { id: '1', type: 'SET', path: ['__proto__', 'polluted'], value: raw(1) },
  'set a method': { id: '1', type: 'SET', path: ['progress'], value: raw(1) },
  endpoint: { id: '1', type: 'ENDPOINT' },
  release: { id: '1', type: 'RELEASE' },
  'a proxy for an argument': apply({ argumentList: [{ type: 'HANDLER', name: 'proxy', value: {} }] }),
  'a throw for an argument': apply({ argumentList: [{ type: 'HANDLER', name: 'throw', value: { isError: true, value: {} } }] }),
  'an unknown handler for an argument': apply({ argumentList: [{ type: 'HANDLER', name: 'nope', value: 1 }] }),
  'a number for arguments': apply({ argumentList: 5 }),
  'null among arguments': apply({ argumentList: [null] }),
  'an argument with another key': apply({ argumentList: [{ type: 'RAW', value: 1, extra: 1 }] }),
  'too many arguments': apply({ argumentList: Array.from({ length: 9 }, () => raw(1)) }),
  'a number for an id': apply({ id: 1 }),
  'an empty id': apply({ id: '' }),
  'a long id': apply({ id: 'x'.repeat(129) }),
  'an object in the path': apply({ path: [{}] }),
  'a text for a path': apply({ path: 'progress' }),
  'another key': apply({ origin: 'x' }),
  null: null,
  'a list': [1],
  'a text': 'x',
}

const ANSWERS: Readonly<Record<string, (id: string) => unknown>> = {
  'a proxy': (id) => ({ id, type: 'HANDLER', name: 'proxy', value: {} }),
  'an unknown handler': (id) => ({ id, type: 'HANDLER', name: 'nope', value: {} }),
  'an unknown type': (id) => ({ id, type: 'OTHER', value: 1 }),
  'a value with another key': (id) => ({ id, type: 'RAW', value: 1, name: 'throw' }),
  'no value': (id) => ({ id, type: 'RAW' }),
  'a throw that is no error': (id) => thrown(id, { isError: false, value: null }),
  'an error with a field errors do not have': (id) => thrown(id, { isError: true, value: { name: 'E', message: 'm', then: 1 } }),
  'an error whose message is an object': (id) => thrown(id, { isError: true, value: { name: 'E', message: {} } }),
  'an error with too many causes': (id) => {
    const nested = (depth: number): object => ({ name: 'E', message: 'm', ...(depth > 0 && { cause: nested(depth - 1) }) })
    return thrown(id, { isError: true, value: nested(5) })
  },
  'another question': () => ({ id: 'someone else', type: 'RAW', value: 1 }),
}

const PACKETS: Readonly<Record<string, unknown>> = {
  'not a text': { a: 1 },
  'not JSON': '[',
  empty: '',
  'not a list': '{}',
  'a message without channel': '[{}]',
  'an unknown channel': '[["other",{}]]',
  'a channel of a prototype': '[["__proto__",{}]]',
  'a key __proto__': '[["broker",{"__proto__":{"type":"SET"},"id":"1","type":"APPLY","path":["progress"],"argumentList":[]}]]',
  'a key __proto__ in an argument': requestText('update', '{"__proto__":1}'),
  'an escaped key __proto__': requestText('update', String.raw`{"_\u005fproto__":1}`),
  'half a surrogate pair': requestText('progress', String.raw`"\ud800"`),
  'deep nesting': `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
  'too many values': `[${'[],'.repeat(300_000)}[]]`,
}

describe('a compartment that sends anything but the protocol is killed, its callers told', () => {
  const attacked = async (attack: (peer: ScriptedPeer, question: string) => void): Promise<void> => {
    const peer = new ScriptedPeer()
    const session = await peer.session(requestOf({ placement: 'process', source: '' }))
    const answer = codeOf(session.call(invocation()))
    attack(peer, (await peer.next('execute')).id)
    expect(await answer).toBe('BoundaryViolation')
    expect(await session.ended).toMatchObject({ kind: 'failed', error: { code: 'BoundaryViolation' } })
    expect(peer.killed).toBe(true)
    expect('pwned' in globalThis || 'polluted' in {}).toBe(false)
  }

  it.each(Object.entries(ATTACKS))(
    'by the request %s',
    async (_name, message) => attacked((peer) => peer.send(['broker', message])),
  )
  it.each(Object.entries(ANSWERS))(
    'by the answer %s',
    async (_name, answer) => attacked((peer, id) => peer.send(['call', answer(id)])),
  )
  it.each(Object.entries(PACKETS))('by a packet that is %s', async (_name, packet) => attacked((peer) => peer.post(packet)))

  it('by two requests of one id', async () => attacked((peer) => {
    const message = { id: '1', type: 'APPLY', path: ['state.read'], argumentList: [raw('c')] }
    peer.send(['broker', message], ['broker', message])
  }))

  it('by more requests than it may have open', async () => attacked((peer) => {
    peer.send(...Array.from({ length: DEFAULT_LIMITS.outstandingRequests + 1 }, (_, id) => ['broker', apply({ id: `r${id}` })]))
  }))
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
    peer.send(['call', { id, type: 'RAW', value: 1 }], ['call', { id, type: 'RAW', value: 2 }])
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
    expect(await peer.next('abort')).toMatchObject({ argumentList: [expect.anything(), expect.anything()] as unknown[] })
    expect(session.inFlight).toBe(1)
    peer.reply(id, 'late')
    await expect.poll(() => session.inFlight).toBe(0)
    const next = session.call(invocation())
    peer.reply((await peer.next('execute')).id, 'on time')
    expect(await next).toBe('on time')
  })
})

describe('the gate', () => {
  it('lets through what the protocol allows', () => {
    const gate = new Gate(DEFAULT_LIMITS)
    gate.sent('call', { id: 'q' })
    const packet = [['broker', apply({})], ['call', { id: 'q', type: 'RAW', value: { a: [1, null] } }]]
    expect(gate.received(JSON.stringify(packet))).toEqual(packet)
  })

  it('takes an id again once its request is answered', () => {
    const gate = new Gate(DEFAULT_LIMITS)
    const packet = JSON.stringify([['broker', apply({})]])
    gate.received(packet)
    expect(() => gate.received(packet)).toThrow('two requests of one id')
    gate.sent('broker', { id: '1' })
    expect(gate.received(packet)).toHaveLength(1)
  })

  it('throws nothing but violations, and admits nothing but the protocol, whatever the packet', () => {
    const key = fc.constantFrom('id', 'type', 'path', 'argumentList', 'value', 'name', '__proto__', 'constructor')
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom<unknown>(
          '1', 'q', 'APPLY', 'RAW', 'HANDLER', 'throw', 'progress', 'fs.read', 'call', 'broker', 'constructor', null, 5, true,
        ),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
      ),
    }))
    const message = fc.oneof(fc.tuple(fc.constantFrom('call', 'broker'), value), value)
    fc.assert(fc.property(fc.array(message, { maxLength: 3 }), (packet) => {
      const gate = new Gate(DEFAULT_LIMITS)
      gate.sent('call', { id: 'q' })
      try {
        for (const [channel, admitted] of gate.received(JSON.stringify(packet))) {
          const { type, path } = admitted as { type: string; path?: string[] }
          if (channel === 'broker') expect([type, path?.length]).toEqual(['APPLY', 1])
          else expect(['RAW', 'HANDLER']).toContain(type)
        }
      } catch (error) {
        expect(error).toMatchObject({ code: 'BoundaryViolation' })
      }
    }), { numRuns: 20_000 })
  })
})
