import { createServer, Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { FrameDecoder } from '../src/wire/frame.ts'
import { FrameWriter } from '../src/wire/frame-writer.ts'
import type { Packet } from '../src/wire/transport.ts'

async function pair(): Promise<readonly [near: Socket, far: Socket]> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const near = new Socket().connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [far] = await once(server, 'connection') as [Socket]
  onTestFinished(() => {
    near.destroy()
    far.destroy()
    server.close()
  })
  return [near, far]
}

/** Of every size that is written in its own way, each to be told from its neighbours. */
const packets: readonly Packet[] = Array.from({ length: 60 }, (_, i) => {
  const text = `${i}:`.padEnd([10, 5_000, 100_000, 600_000][i % 4]!, String.fromCodePoint(97 + i % 26))
  return i % 3 === 0 ? text : [`[${i}]`, text, 'é€'.repeat(i)]
})

it('writes what it was given, however long the other side leaves it unread', async () => {
  const [near, far] = await pair()
  const drained = Promise.withResolvers<void>()
  const writer = new FrameWriter(near, drained.resolve)
  const results = [...packets, ...packets, ...packets].map((packet) => writer.write(packet))
  expect(results.at(-1)).toBe(false)
  expect(writer.queuedBytes).toBeGreaterThan(near.writableLength)
  const received: Packet[] = []
  const decoder = new FrameDecoder(1_000_000)
  await new Promise<void>((resolve) => {
    far.on('data', (chunk: Buffer) => decoder.push(chunk, (packet) => {
      if (received.push(packet) === results.length) resolve()
    }))
  })
  expect(received).toEqual([...packets, ...packets, ...packets])
  await drained.promise
  expect(writer.queuedBytes).toBe(0)
})

it('uses a room again only when what was in it has left', async () => {
  const [near, far] = await pair()
  const writer = new FrameWriter(near, () => undefined)
  const received: Packet[] = []
  const decoder = new FrameDecoder(1_000_000)
  const waiting: (() => void)[] = []
  far.on('data', (chunk: Buffer) => decoder.push(chunk, (packet) => {
    received.push(packet)
    waiting.shift()?.()
  }))
  for (const packet of packets) {
    const arrived = new Promise<void>((resolve) => void waiting.push(resolve))
    writer.write(packet)
    await arrived
  }
  expect(received).toEqual(packets)
})
