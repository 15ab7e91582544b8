import { createServer, Socket } from 'node:net'
import { MessageChannel } from 'node:worker_threads'
import { describe, expect, it, onTestFinished } from 'vitest'
import { expose, wrap } from '../src/wire/comlink.ts'
import { Link, TRUSTING } from '../src/wire/link.ts'
import { portTransport } from '../src/wire/port-transport.ts'
import { socketTransport } from '../src/wire/socket-transport.ts'
import type { Transport } from '../src/wire/transport.ts'

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
      socketTransport(near, { maxFrameBytes: 1024 * 1024, readOnlyWhenDrained: true }),
      socketTransport(far, { maxFrameBytes: 1024 * 1024, readOnlyWhenDrained: false }),
    ]
  },
  async port() {
    const { port1, port2 } = new MessageChannel()
    onTestFinished(() => port1.close())
    return [portTransport(port1), portTransport(port2)]
  },
}

/** Counts packets on their way out. */
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

const link = (transport: Transport, closed: (reason?: unknown) => void = () => undefined, maxQueuedBytes = Infinity): Link =>
  new Link(transport, { inspector: TRUSTING, maxMessageBytes: 20 * 1024 * 1024, maxQueuedBytes, closed })

describe.each(Object.keys(pairs))('a link over a %s', (kind) => {
  it('carries both directions apart, and what is posted in one tick in one packet', async () => {
    const [near, far] = await pairs[kind]!()
    const ours = counted(near)
    const host = link(ours)
    const compartment = link(far)
    expose({ add: (a: number, b: number) => a + b }, compartment.call)
    expose({ add: (a: number, b: number) => a * b }, host.broker)
    const add = wrap(host.call)('add')
    const multiply = wrap(compartment.broker)('add')
    const numbers = Array.from({ length: 50 }, (_, n) => n)
    expect(await Promise.all([...numbers.map((n) => add(n, 1)), multiply(6, 7)])).toEqual([...numbers.map((n) => n + 1), 42])
    expect(ours.packets).toBe(2)
  })

  it('turns what is thrown into an error with code, data and cause', async () => {
    const [near, far] = await pairs[kind]!()
    const error = Object.assign(new Error('outer', { cause: new Error('inner') }), { code: 'X', data: { n: 1 } })
    expose({ fail: () => Promise.reject(error) }, link(far).call)
    await expect(wrap(link(near).call)('fail')()).rejects.toMatchObject({
      name: 'Error', message: 'outer', code: 'X', data: { n: 1 }, cause: { message: 'inner' },
    })
  })

  it('cuts a large batch into packets', async () => {
    const [near, far] = await pairs[kind]!()
    const ours = counted(near)
    expose({ length: (text: string) => text.length }, link(far).call)
    const length = wrap(link(ours).call)('length')
    const text = 'x'.repeat(100_000)
    expect(await Promise.all(Array.from({ length: 30 }, () => length(text)))).toEqual(Array.from({ length: 30 }, () => 100_000))
    expect(ours.packets).toBe(15)
  })

  it('says once that the other side is gone', async () => {
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
  it('gives up on a side that announces too large a frame', async () => {
    const [near, far] = await sockets()
    const gone = Promise.withResolvers<unknown>()
    link(socketTransport(near, { maxFrameBytes: 10, readOnlyWhenDrained: true }), gone.resolve)
    far.write(Buffer.from([11, 0, 0, 0]))
    expect(await gone.promise).toMatchObject({ name: 'FrameTooLarge' })
  })

  it('gives up on a side that does not read', async () => {
    const [near] = await sockets()
    const gone = Promise.withResolvers<unknown>()
    const host = link(socketTransport(near, { maxFrameBytes: 10, readOnlyWhenDrained: true }), gone.resolve, 8 * 1024 * 1024)
    const call = wrap(host.call)('anything')
    for (let sent = 0; sent < 32; sent++) void call('x'.repeat(1024 * 1024))
    expect(await gone.promise).toMatchObject({ message: expect.stringMatching(/left \d+ bytes unread/) as string })
  })

  it('stops reading a side while that side does not read, and goes on when it does', async () => {
    const [near, far] = await sockets()
    const host = link(socketTransport(near, { maxFrameBytes: 1024 * 1024, readOnlyWhenDrained: true }))
    far.pause()
    const asked: number[] = []
    expose({ ask: (n: number) => void asked.push(n) }, host.broker)
    void wrap(host.call)('big')('x'.repeat(16 * 1024 * 1024))
    await expect.poll(() => near.isPaused()).toBe(true)
    const compartment = link(socketTransport(far, { maxFrameBytes: 32 * 1024 * 1024, readOnlyWhenDrained: false }))
    const answer = wrap(compartment.broker)('ask')(7)
    expect(asked).toEqual([])
    far.resume()
    await answer
    expect(asked).toEqual([7])
    expect(near.isPaused()).toBe(false)
  })
})
