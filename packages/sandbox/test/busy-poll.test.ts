import { MessageChannel } from 'node:worker_threads'
import { DEFAULT_LIMITS } from '@bulkhead/contract'
import { afterEach, expect, test } from 'vitest'
import { termsOf } from '../src/process/hull.ts'
import type * as links from '../src/wire/link.ts'
import { portTransport } from '../src/wire/transport.ts'
import { expose, Remote } from '../src/wire/rpc.ts'
import type { Transport } from '../src/wire/protocol.ts'
import type * as polls from '../src/wire/busy-poll.ts'
import { withClock } from './with-clock.ts'

const clock = { nowMs: 0 }
const { BusyPoll } = await withClock<typeof polls>('busy-poll.ts', clock)
const { Link, TRUSTING } = await withClock<typeof links>('link.ts', clock)

const immediates = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Immediate').length
const pass = (ms: number): void => void (clock.nowMs += ms)
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

// A poll would go on while the clock does not advance.
afterEach(async () => {
  pass(1)
  await turn()
})

/** Sends and receives until it polls. */
function polling(): polls.BusyPoll {
  const busyPoll = new BusyPoll()
  const before = immediates()
  for (let count = 0; immediates() === before && count < 1_000; count++) {
    busyPoll.sent()
    busyPoll.received()
  }
  return busyPoll
}

test('there is no busy poll for the first message, nor while replies are too slow', () => {
  const busyPoll = new BusyPoll()
  const before = immediates()
  for (let count = 0; count < 640; count++) {
    busyPoll.sent()
    if (count > 0 && count % 16 === 0) pass(0.5)
    busyPoll.received()
    expect(immediates()).toBe(before)
  }
})

test('one slow message does not stop the busy poll of a long exchange', async () => {
  const before = immediates()
  const busyPoll = polling()
  for (let count = 0; count < 1_000; count++) {
    busyPoll.received()
    busyPoll.sent()
  }
  pass(0.5)
  await turn()
  expect(immediates()).toBeLessThanOrEqual(before)
  busyPoll.received()
  busyPoll.sent()
  expect(immediates()).toBe(before + 1)
})

test('after many fast messages there is a busy poll, until its time is over', async () => {
  const before = immediates()
  const busyPoll = polling()
  expect(immediates()).toBe(before + 1)
  busyPoll.received()
  busyPoll.sent()
  await turn()
  expect(immediates()).toBe(before + 1)
  pass(0.5)
  await turn()
  expect(immediates()).toBeLessThanOrEqual(before)
})

test('there is no busy poll for a message that has arrived', async () => {
  const before = immediates()
  const busyPoll = polling()
  busyPoll.sent()
  busyPoll.received()
  await turn()
  expect(immediates()).toBeLessThanOrEqual(before)
})

test.each([true, false])('a link polls only if it may: %s', async (busyPoll) => {
  const { port1, port2 } = new MessageChannel()
  const link = (transport: Transport, may: boolean): links.Link =>
    new Link(transport, {
      inspector: TRUSTING, maxMessageBytes: 1_000, maxQueuedBytes: Infinity, busyPoll: may, closed: () => undefined,
    })
  const asking = new Remote(link(portTransport(port1), false).call)
  expose({ ping: () => 'pong' }, link(portTransport(port2), busyPoll).call)
  // A port keeps the loop turning too, now and then for one turn.
  let inARow = 0
  for (let count = 0; inARow < 20 && count < 2_000; count++) {
    await asking.call('ping')
    inARow = immediates() > 0 ? inARow + 1 : 0
  }
  expect(inARow === 20).toBe(busyPoll)
  port1.close()
})

test('a compartment with less processor time than the default does not busy-poll', () => {
  expect(termsOf(DEFAULT_LIMITS).busyPoll).toBe(true)
  expect(termsOf({ ...DEFAULT_LIMITS, cpuMs: DEFAULT_LIMITS.cpuMs - 1 }).busyPoll).toBe(false)
})
