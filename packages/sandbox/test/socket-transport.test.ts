import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { encodeFrame } from '../src/wire/frame.ts'
import { socketTransport } from '../src/wire/socket-transport.ts'

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
  /** When each packet came. */
  readonly times: readonly number[]
  /** In which turn of the event loop. */
  readonly turns: readonly number[]
}

/** How some packets came, each of which is worked on for so long. */
async function comingAfterWork(packet: string, workMs: number, count: number): Promise<Coming> {
  const [here, there] = await socketPair()
  const transport = socketTransport(here, { maxFrameBytes: 2 ** 24, readOnlyWhenDrained: true, restsAfterLong: true })
  const times: number[] = []
  const turns: number[] = []
  let turn = 0
  const next = (): void => {
    turn++
    if (times.length < count) setImmediate(next)
  }
  const all = Promise.withResolvers<void>()
  transport.listen({
    packet() {
      if (times.length === 0) next()
      turns.push(turn)
      times.push(performance.now())
      while (performance.now() < times.at(-1)! + workMs);
      if (times.length === count) all.resolve()
    },
    closed: () => undefined,
  })
  for (let index = 0; index < count; index++) there.write(encodeFrame(packet))
  await all.promise
  return { times, turns }
}

const gapsOf = (steps: readonly number[]): readonly number[] => steps.slice(1).map((step, index) => step - steps[index]!)

it('leaves three quarters of the time to others after long packets that take long', async () => {
  const { times } = await comingAfterWork('x'.repeat(1_000_000), 40, 4)
  // A busy machine makes them longer, never shorter.
  expect(Math.min(...gapsOf(times))).toBeGreaterThanOrEqual(150)
})

it('reads on at once after those that do not', async () => {
  const { turns } = await comingAfterWork('x'.repeat(1_000), 1, 50)
  // In one turn or the next: while a timer is waited for, the loop turns many times.
  expect(Math.min(...gapsOf(turns))).toBeLessThanOrEqual(1)
})
