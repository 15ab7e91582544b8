import { MessageChannel } from 'node:worker_threads'
import { DEFAULT_LIMITS } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { termsOf } from '../src/process/hull.ts'
import { expose } from '../src/wire/comlink.ts'
import { Link, TRUSTING } from '../src/wire/link.ts'
import { portTransport } from '../src/wire/port-transport.ts'
import { Remote } from '../src/wire/remote.ts'
import type { Transport } from '../src/wire/transport.ts'
import { Vigil } from '../src/wire/busy-poll.ts'

const awake = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Immediate').length
const pass = (ms: number): void => {
  const until = performance.now() + ms
  while (performance.now() < until);
}
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/** As many words and quick answers as it takes: a machine that holds up the thread in between makes some of them slow. */
function inFullSwing(): Vigil {
  const vigil = new Vigil()
  const before = awake()
  for (let count = 0; awake() === before && count < 100_000; count++) {
    vigil.said()
    vigil.heard()
  }
  return vigil
}

test('there is no busy poll for the first message, nor where it does not pay', () => {
  const vigil = new Vigil()
  const before = awake()
  for (let count = 0; count < 640; count++) {
    vigil.said()
    if (count > 0 && count % 16 === 0) pass(0.3)
    vigil.heard()
    expect(awake()).toBe(before)
  }
})

test('a long conversation is not put to sleep by one slow word', async () => {
  const before = awake()
  const vigil = inFullSwing()
  for (let count = 0; count < 1_000; count++) {
    vigil.heard()
    vigil.said()
  }
  pass(0.3)
  await turn()
  expect(awake()).toBeLessThanOrEqual(before)
  vigil.heard()
  vigil.said()
  expect(awake()).toBe(before + 1)
})

test('in full swing a side stays awake for the next word, and for a moment only', async () => {
  const before = awake()
  const vigil = inFullSwing()
  expect(awake()).toBe(before + 1)
  vigil.heard()
  vigil.said()
  expect(awake()).toBe(before + 1)
  pass(0.3)
  await turn()
  expect(awake()).toBeLessThanOrEqual(before)
})

test('there is no busy poll for a message that has arrived', async () => {
  const before = awake()
  const vigil = inFullSwing()
  vigil.said()
  vigil.heard()
  await turn()
  expect(awake()).toBeLessThanOrEqual(before)
})

test.each([true, false])('a side of a link that may stay awake: %s', async (staysAwake) => {
  const { port1, port2 } = new MessageChannel()
  const link = (transport: Transport, may: boolean): Link =>
    new Link(transport, { inspector: TRUSTING, maxMessageBytes: 1_000, maxQueuedBytes: Infinity, staysAwake: may, closed: () => undefined })
  const asking = new Remote(link(portTransport(port1), false).call)
  expose({ ping: () => 'pong' }, link(portTransport(port2), staysAwake).call)
  // A port keeps the loop going too, now and then and for one turn.
  let inARow = 0
  for (let count = 0; inARow < 20 && count < (staysAwake ? 100_000 : 2_000); count++) {
    await asking.call('ping')
    inARow = awake() > 0 ? inARow + 1 : 0
  }
  expect(inARow === 20).toBe(staysAwake)
  port1.close()
})

test('a compartment with less processor time than is usual does not spend it on waiting', () => {
  expect(termsOf(DEFAULT_LIMITS).staysAwake).toBe(true)
  expect(termsOf({ ...DEFAULT_LIMITS, cpuMs: DEFAULT_LIMITS.cpuMs - 1 }).staysAwake).toBe(false)
})
