import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { encodeFrame } from '../src/wire/frame.ts'
import { socketTransport } from '../src/wire/transport.ts'

async function socketPair(): Promise<readonly [Socket, Socket]> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const there = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [here] = await once(server, 'connection') as [Socket]
  onTestFinished(() => {
    for (const socket of [here, there]) socket.destroy()
    server.close()
  })
  return [here, there]
}

interface Coming {
  /** The turn of the event loop in which each packet arrived. */
  readonly turns: readonly number[]
  /** After how many packets a timer of twice the work fired before the next packet arrived. */
  readonly rests: number
}

/** How packets arrive when the receiver works on each of them for `workMs`. */
async function comingAfterWork(packet: string, workMs: number, count: number): Promise<Coming> {
  const [here, there] = await socketPair()
  const transport = socketTransport(here, { maxFrameBytes: 2 ** 24, readOnlyWhenDrained: true, pausesAfterLong: true })
  const turns: number[] = []
  let turn = 0
  let rests = 0
  const next = (): void => {
    turn++
    if (turns.length < count) setImmediate(next)
  }
  const all = Promise.withResolvers<void>()
  transport.listen({
    packet() {
      if (turns.length === 0) next()
      const number = turns.push(turn)
      for (const until = performance.now() + workMs; performance.now() < until;);
      setTimeout(() => { if (turns.length === number) rests++ }, workMs * 2)
      if (number === count) all.resolve()
    },
    closed: () => undefined,
  })
  for (let index = 0; index < count; index++) there.write(encodeFrame(packet))
  await all.promise
  return { turns, rests }
}

const gapsOf = (steps: readonly number[]): readonly number[] =>
  steps.slice(1).map((step, index) => step - steps[index]!)

it('pauses after a long packet that takes long, so that other work gets most of the time', async () => {
  const { rests } = await comingAfterWork('x'.repeat(1_000_000), 40, 4)
  expect(rests).toBe(3)
})

it('reads on at once after short packets', async () => {
  const { turns } = await comingAfterWork('x'.repeat(1_000), 1, 50)
  // In the same turn or the next one. During a pause the loop would turn many times.
  expect(Math.min(...gapsOf(turns))).toBeLessThanOrEqual(1)
})

it('keeps the order of packets that arrive before, during and after a pause', async () => {
  const [here, there] = await socketPair()
  const got: string[] = []
  const all = Promise.withResolvers<void>()
  socketTransport(here, { maxFrameBytes: 2 ** 20, readOnlyWhenDrained: true }).listen({
    packet(packet) {
      got.push(packet as string)
      if (packet === 'a') here.pause()
      if (packet === 'd') all.resolve()
    },
    closed: () => undefined,
  })
  there.write(encodeFrame('a'))
  await expect.poll(() => got).toEqual(['a'])
  there.write(encodeFrame('b'))
  await expect.poll(() => here.readableLength).toBeGreaterThan(0)
  there.write(encodeFrame('c'))
  expect(got).toEqual(['a'])
  here.resume()
  there.write(encodeFrame('d'))
  await all.promise
  expect(got).toEqual(['a', 'b', 'c', 'd'])
})
