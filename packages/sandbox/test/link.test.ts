import { createServer, Socket } from 'node:net'
import { MessageChannel } from 'node:worker_threads'
import type { Json } from '@bulkhead/kit/json'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { anyCodePoint } from '../../kit/test/samples/text.ts'
import { Link, TRUSTING } from '../src/wire/link.ts'
import type { Transport } from '../src/wire/protocol.ts'
import { expose, Remote } from '../src/wire/rpc.ts'
import { portTransport, socketTransport } from '../src/wire/transport.ts'

async function sockets(): Promise<readonly [Socket, Socket]> {
  const accepted = Promise.withResolvers<Socket>()
  const server = createServer((socket) => accepted.resolve(socket)).listen(0, '127.0.0.1')
  await new Promise((listening) => server.once('listening', listening))
  const near = new Socket().connect((server.address() as { port: number }).port, '127.0.0.1')
  const far = await accepted.promise
  onTestFinished(() => {
    near.destroy()
    far.destroy()
    server.close()
  })
  return [near, far]
}

const pairs: Readonly<Record<string, () => Promise<readonly [Transport, Transport]>>> = {
  async socket() {
    const [near, far] = await sockets()
    return [
      socketTransport(near, { maxFrameBytes: 4 * 1024 * 1024, readOnlyWhenDrained: true }),
      socketTransport(far, { maxFrameBytes: 4 * 1024 * 1024, readOnlyWhenDrained: false }),
    ]
  },
  async port() {
    const { port1, port2 } = new MessageChannel()
    onTestFinished(() => port1.close())
    return [portTransport(port1), portTransport(port2)]
  },
}

/** Counts the packets that are sent. */
const counted = (transport: Transport): Transport & { packets: number } => ({
  packets: 0,
  get queuedBytes() {
    return transport.queuedBytes
  },
  send(packet) {
    this.packets++
    transport.send(packet)
  },
  listen: (receiver) => transport.listen(receiver),
  close: () => transport.close(),
})

const link = (
  transport: Transport, closed: (reason?: unknown) => void = () => undefined, maxQueuedBytes = Infinity,
): Link =>
  new Link(transport, { inspector: TRUSTING, maxMessageBytes: 20 * 1024 * 1024, maxQueuedBytes, closed })

describe.each(Object.keys(pairs))('a link over a %s', (kind) => {
  it('keeps both directions apart, and sends the messages of one tick in one packet', async () => {
    const [near, far] = await pairs[kind]!()
    const ours = counted(near)
    const host = link(ours)
    const compartment = link(far)
    expose({ add: (a: number, b: number) => a + b }, compartment.call)
    expose({ add: (a: number, b: number) => a * b }, host.broker)
    const ask = new Remote(host.call)
    const askBack = new Remote(compartment.broker)
    const numbers = Array.from({ length: 30 }, (_, n) => n)
    expect(await Promise.all([...numbers.map((n) => ask.call('add', n, 1)), askBack.call('add', 6, 7)]))
      .toEqual([...numbers.map((n) => n + 1), 42])
    expect(ours.packets).toBe(2)
    await Promise.all(Array.from({ length: 64 }, (_, n) => ask.call('add', n, 1)))
    expect(ours.packets).toBe(4)
  })

  it('turns a thrown value into an error with code, data and cause', async () => {
    const [near, far] = await pairs[kind]!()
    const error = Object.assign(new Error('outer', { cause: new Error('inner') }), { code: 'X', data: { n: 1 } })
    expose({ fail: () => Promise.reject(error) }, link(far).call)
    await expect(new Remote(link(near).call).call('fail')).rejects.toMatchObject({
      name: 'Error', message: 'outer', code: 'X', data: { n: 1 }, cause: { message: 'inner' },
    })
  })

  it('splits a large batch into packets', async () => {
    const [near, far] = await pairs[kind]!()
    const ours = counted(near)
    expose({ length: (texts: readonly string[]) => texts.length }, link(far).call)
    const remote = new Remote(link(ours).call)
    const short = Array.from({ length: 100 }, () => 'x'.repeat(1_000))
    const lengths = (...args: readonly unknown[]): Promise<unknown> => remote.call('length', args)
    expect(await Promise.all(Array.from({ length: 60 }, () => lengths(...short))))
      .toEqual(Array.from({ length: 60 }, () => 100))
    expect(ours.packets).toBe(4)
    await Promise.all(Array.from({ length: 60 }, () => lengths('x'.repeat(100_000))))
    expect(ours.packets).toBe(8)
  })

  it('rejects a reply that is too large, and goes on', async () => {
    const [near, far] = await pairs[kind]!()
    const compartment = new Link(
      far, { inspector: TRUSTING, maxMessageBytes: 8_000, maxQueuedBytes: Infinity, closed: () => undefined },
    )
    expose({ much: (chars: number) => 'ü'.repeat(chars) }, compartment.call)
    const remote = new Remote(link(near).call)
    await expect(remote.call('much', 4_100))
      .rejects.toMatchObject({ code: 'MessageTooLarge', data: { limit: 'messageBytes' } })
    expect(await remote.call('much', 3_900)).toHaveLength(3_900)
  })

  it('handles a frequent method directly, and the others with Comlink', async () => {
    const [near, far] = await pairs[kind]!()
    const compartment = new Link(far, {
      inspector: TRUSTING, maxMessageBytes: 8_000, maxQueuedBytes: Infinity, closed: () => undefined,
    })
    const answer = ([chars]: readonly Json[]): Promise<Json> => {
      if (chars === -1) throw new RangeError('at once')
      if (chars === -3) throw new RangeError('x'.repeat(9_000))
      return chars === -2 ? Promise.reject(new RangeError('later')) : Promise.resolve('ü'.repeat(chars as number))
    }
    expose({ much: () => 'by Comlink', other: () => 'by Comlink' }, compartment.call, { method: 'much', run: answer })
    const remote = new Remote(link(near).call)
    expect(await Promise.all([remote.call('much', 2), remote.call('other')])).toEqual(['üü', 'by Comlink'])
    await expect(remote.call('much', -1)).rejects.toMatchObject({ name: 'RangeError', message: 'at once' })
    await expect(remote.call('much', -2)).rejects.toMatchObject({ name: 'RangeError', message: 'later' })
    await expect(remote.call('much', -3)).rejects.toMatchObject({ code: 'MessageTooLarge' })
    await expect(remote.call('much', 4_100)).rejects.toMatchObject({ code: 'MessageTooLarge' })
    expect(await remote.call('much', 3_900)).toHaveLength(3_900)
  })

  it('carries any JSON value, with long strings anywhere in it', async () => {
    const [near, far] = await pairs[kind]!()
    expose({ echo: (value: unknown) => value }, link(far).call)
    const remote = new Remote(link(near).call)
    const long = fc.tuple(fc.string({ unit: anyCodePoint }), fc.nat(10))
      .map(([text, n]) => text.padEnd(n * 1_000, 'ü'))
    const value = fc.oneof(long, fc.jsonValue(), fc.array(long), fc.dictionary(fc.string(), fc.array(long)))
    await fc.assert(fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 4 }), async (values) => {
      expect(await Promise.all(values.map((one) => remote.call('echo', one))))
        .toEqual(JSON.parse(JSON.stringify(values)))
    }), { numRuns: thoroughly(20, 200) })
  })

  it('reports the end of the other side once', async () => {
    const [near, far] = await pairs[kind]!()
    const reasons: unknown[] = []
    const gone = Promise.withResolvers<void>()
    link(near, (reason) => {
      reasons.push(reason)
      gone.resolve()
    })
    link(far).close()
    await gone.promise
    expect(reasons).toEqual([undefined])
  })
})

describe('a link over a socket', () => {
  it('closes when the other side announces a frame that is too large', async () => {
    const [near, far] = await sockets()
    const gone = Promise.withResolvers<unknown>()
    link(socketTransport(near, { maxFrameBytes: 10, readOnlyWhenDrained: true }), gone.resolve)
    far.write(Buffer.from([11, 0, 0, 0]))
    expect(await gone.promise).toMatchObject({ name: 'FrameTooLarge' })
  })

  it('splits a batch into packets that are small enough for the other side', async () => {
    const [near, far] = await sockets()
    const maxFrameBytes = 30_016
    const compartment = new Link(socketTransport(far, { maxFrameBytes: 1024 * 1024, readOnlyWhenDrained: false }), {
      inspector: TRUSTING, maxMessageBytes: maxFrameBytes - 16, maxQueuedBytes: Infinity, closed: () => undefined,
    })
    expose({ repeat: (text: string, times: number) => text.repeat(times) }, compartment.call)
    const remote = new Remote(link(socketTransport(near, { maxFrameBytes, readOnlyWhenDrained: true })).call)
    const texts = ['x', '\u00fc', '\u20ac'].flatMap(
      (text) => [1_000, 4_000, 5_000, 9_900].map((times) => [text, times] as const),
    )
    const answers = await Promise.all(texts.map(([text, times]) => remote.call('repeat', text, times)))
    expect(answers).toEqual(texts.map(([text, times]) => text.repeat(times)))
  })

  it('does not change queued messages when more are sent', async () => {
    const [near, far] = await sockets()
    const received: string[] = []
    const remote = new Remote(link(socketTransport(near, { maxFrameBytes: 1_000_000, readOnlyWhenDrained: true })).call)
    const texts = Array.from(
      { length: 80 }, (_, index) => String.fromCharCode(0x30 + index).repeat(50_000 + index * 1_000),
    )
    const answers: Promise<unknown>[] = []
    for (const text of texts) {
      answers.push(remote.call('receive', text))
      await Promise.resolve()
    }
    const compartment = link(socketTransport(far, { maxFrameBytes: 4_000_000, readOnlyWhenDrained: false }))
    expose({ receive: (text: string) => void received.push(text) }, compartment.call)
    await Promise.all(answers)
    expect(received).toEqual(texts)
  })

  it('closes when the other side does not read', async () => {
    const [near] = await sockets()
    const gone = Promise.withResolvers<unknown>()
    const host = link(
      socketTransport(near, { maxFrameBytes: 10, readOnlyWhenDrained: true }), gone.resolve, 8 * 1024 * 1024,
    )
    const remote = new Remote(host.call)
    for (let sent = 0; sent < 32; sent++) void remote.call('anything', 'x'.repeat(1024 * 1024))
    expect(await gone.promise).toMatchObject({ message: expect.stringMatching(/left \d+ bytes unread/) as string })
  })

  it('does not read from a side that does not read, until that side reads again', async () => {
    const [near, far] = await sockets()
    const host = link(socketTransport(near, { maxFrameBytes: 1024 * 1024, readOnlyWhenDrained: true }))
    far.pause()
    const asked: number[] = []
    expose({ ask: (n: number) => void asked.push(n) }, host.broker)
    void new Remote(host.call).call('big', 'x'.repeat(16 * 1024 * 1024))
    await expect.poll(() => near.isPaused()).toBe(true)
    const compartment = link(socketTransport(far, { maxFrameBytes: 32 * 1024 * 1024, readOnlyWhenDrained: false }))
    const answer = new Remote(compartment.broker).call('ask', 7)
    expect(asked).toEqual([])
    far.resume()
    await answer
    expect(asked).toEqual([7])
    expect(near.isPaused()).toBe(false)
  })
})
