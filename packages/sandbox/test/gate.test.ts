import { BROKER_METHODS, DEFAULT_LIMITS } from '@bulkhead/contract'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { Gate } from '../src/session/gate.ts'
import { KINDS, MAX_LONG_STRINGS, WIRE_LIMITS } from '../src/wire/message.ts'
import { codeOf, invocation, requestOf } from './fixture.ts'
import { ANSWERS, error, full, nested, PACKETS, request, REQUESTS, text } from './gate-attacks.ts'
import { ScriptedPeer } from './scripted-peer.ts'

const { call, broker } = KINDS

describe('a compartment that violates the protocol is killed, and its callers are rejected', () => {
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

  it.each(Object.entries(REQUESTS))(
    'a request %s is a violation', async (_name, message) => attacked((peer) => peer.send(message)),
  )
  it.each(Object.entries(ANSWERS))(
    'a reply %s is a violation', async (_name, answer) => attacked((peer, id) => peer.send(answer(id))),
  )
  it.each(Object.entries(PACKETS))(
    'a packet that is %s is a violation', async (_name, packet) => attacked((peer) => peer.post(packet)),
  )

  it('two requests with one id are a violation', async () => attacked((peer) => {
    const message = request({ method: 'state.read', args: ['c'] })
    peer.send(message, message)
  }))

  it('more open requests than the limit are a violation', async () => attacked((peer) => {
    peer.send(...Array.from({ length: DEFAULT_LIMITS.outstandingRequests + 1 }, (_, id) => request({ id })))
  }, 'TooManyRequests'))

  it('more requests in a second than the limit are a violation, even if none is open', async () => {
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
    ['a string that is too long', JSON.stringify('x'.repeat(DEFAULT_LIMITS.messageBytes))],
    ['strings that are too long together', [text(request()), 'x'.repeat(DEFAULT_LIMITS.messageBytes)]],
  ])('sending %s is a violation', async (_name, packet) => attacked((peer) => peer.post(packet), 'MessageTooLarge'))
})

describe('a compartment that replies twice', () => {
  it('gives its caller the first reply and is killed for the second', async () => {
    const peer = new ScriptedPeer()
    const session = await peer.session(requestOf({ placement: 'process', source: '' }))
    const answer = session.call(invocation())
    const { id } = await peer.next('execute')
    peer.reply(id, 'first')
    peer.reply(id, 'second')
    expect(await answer).toBe('first')
    expect(await session.ended).toMatchObject({ kind: 'failed', error: { code: 'BoundaryViolation' } })
  })

  it('gives its caller neither reply when both are in one packet', async () => {
    const peer = new ScriptedPeer()
    const session = await peer.session(requestOf({ placement: 'process', source: '' }))
    const answer = codeOf(session.call(invocation()))
    const { id } = await peer.next('execute')
    peer.send([call.value, id, 1], [call.value, id, 2])
    expect(await answer).toBe('BoundaryViolation')
  })

  it('is allowed one late reply to a cancelled call, which is dropped', async () => {
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

  it('admits valid messages, one in a packet or several', () => {
    const answer = [call.value, 7, { a: [1, null] }]
    expect(asked(7).received(JSON.stringify(answer))).toEqual([answer])
    expect(asked(7).received(JSON.stringify([request(), answer]))).toEqual([request(), answer])
    const failure = [call.failure, 7, error({ code: 'X', data: {}, stack: 's', cause: error() })]
    expect(asked(7).received(JSON.stringify(failure))).toEqual([failure])
  })

  it('restores long strings', () => {
    const long = 'ü'.repeat(5_000)
    const packet = [JSON.stringify([
      [...request({ method: 'update', args: ['c', { a: [null, null] }] }), [[1, 'a', 1]]],
      [call.value, 7, null, [[]]],
    ]), long, 'short']
    expect(asked(7).received(packet))
      .toEqual([request({ method: 'update', args: ['c', { a: [null, long] }] }), [call.value, 7, 'short']])
  })

  it.each([
    ...Object.entries(PACKETS),
    ...Object.entries(REQUESTS).map(([name, message]) => [`a request ${name}`, text(message)] as const),
    ...Object.entries(ANSWERS).map(([name, answer]) => [`a reply ${name}`, text(answer(7))] as const),
  ])('rejects %s', (_name, packet) => {
    expect(() => asked(7).received(packet)).toThrow(expect.objectContaining({ code: 'BoundaryViolation' }))
  })

  it('admits everything up to its limits', () => {
    const { errorDepth, errorChars } = WIRE_LIMITS
    const failure = [call.failure, 7, { ...nested(errorDepth - 1), message: 'x'.repeat(errorChars) }]
    expect(asked(7).received(text(failure))).toEqual([failure])
    expect(asked(7).received(text(request({ args: Array.from({ length: 8 }, () => 1) })))).toHaveLength(1)
    expect(asked(7).received(full(MAX_LONG_STRINGS))).toHaveLength(1)
  })

  it.each([
    ['a string', (json: string) => json],
    ['a list of strings', (json: string) => [json]],
  ])('admits %s of exactly the maximum length', (_name, of) => {
    const json = text(request())
    const gate = (messageBytes: number): Gate => new Gate({ ...DEFAULT_LIMITS, messageBytes })
    expect(gate(json.length).received(of(json))).toHaveLength(1)
    expect(() => gate(json.length - 1).received(of(json))).toThrow(expect.objectContaining({ code: 'MessageTooLarge' }))
  })

  it('admits as many open requests as the limit', () => {
    const gate = new Gate({ ...DEFAULT_LIMITS, outstandingRequests: 2 })
    gate.received(text(request({ id: 1 })))
    gate.received(text(request({ id: 2 })))
    expect(() => gate.received(text(request({ id: 3 })))).toThrow(expect.objectContaining({ code: 'TooManyRequests' }))
  })

  it('counts the requests of each second separately', () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const gate = new Gate({ ...DEFAULT_LIMITS, messagesPerSecond: 2 })
    const ask = (): void => {
      gate.received(text(request()))
      gate.sent(broker.value, 1)
    }
    const flood = expect.objectContaining({ code: 'MessageFlood' }) as Error
    for (let second = 0; second < 3; second++) {
      ask()
      ask()
      vi.advanceTimersByTime(999)
      expect(ask).toThrow(flood)
      vi.advanceTimersByTime(1)
    }
  })

  it('admits an id again after the reply to its request', () => {
    const gate = new Gate(DEFAULT_LIMITS)
    const packet = text(request())
    gate.received(packet)
    expect(() => gate.received(packet)).toThrow('two requests with one id')
    gate.sent(broker.value, 1)
    expect(gate.received(packet)).toHaveLength(1)
  })

  it('throws only violations and admits only valid messages, for any packet', () => {
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom<unknown>(
          0, 1, 2, 3, 4, 5, 7, '1', 'progress', 'fs.read', 'constructor', '__proto__', null, true, 'name', 'message',
        ),
        fc.array(tie('value'), { maxLength: 5 }),
        fc.dictionary(
          fc.constantFrom('name', 'message', 'cause', '__proto__', 'constructor'), tie('value'), { maxKeys: 4 },
        ),
      ),
    }))
    const message = fc.oneof(
      fc.tuple(fc.constantFrom(1, 2, 3), fc.constantFrom<unknown>(7, 8), value),
      fc.tuple(fc.constantFrom(1, 2, 3), fc.constantFrom<unknown>(7, 8), fc.constantFrom('progress', 'env.get'), value),
      fc.tuple(
        fc.constant(3), fc.constantFrom<unknown>(7, 8), fc.constant('update'), fc.array(value),
        fc.array(value, { maxLength: 2 }),
      ),
      value,
    )
    const texts = fc.oneof(
      { arbitrary: fc.constant([]), weight: 4 }, fc.array(fc.oneof(fc.string(), value), { maxLength: 3 }),
    )
    let admitted = 0
    fc.assert(fc.property(fc.array(message, { minLength: 1, maxLength: 2 }), texts, (messages, beside) => {
      const json = JSON.stringify(messages)
      try {
        for (const [kind, id, third, args] of asked(7).received(beside.length === 0 ? json : [json, ...beside])) {
          admitted++
          if (kind === broker.request) {
            expect([third as string in BROKER_METHODS, Array.isArray(args)]).toEqual([true, true])
          }
          else expect([kind === call.value || kind === call.failure, id]).toEqual([true, 7])
        }
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: 'BoundaryViolation' })
      }
    }), { numRuns: thoroughly(500, 5_000) })
    // About 9 of 500 are.
    expect(admitted).toBeGreaterThan(thoroughly(0, 50))
  })
})
