import { once } from 'node:events'
import { MessageChannel, Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import type * as transports from '../src/wire/transport.ts'
import { withClock } from './with-clock.ts'

const clock = { nowMs: 0 }
const { portTransport } = await withClock<typeof transports>('transport.ts', clock)

/** The time that each packet takes. */
const PACKET_MS = 1
const MANY = 100
const numbers = Array.from({ length: MANY }, (_, index) => String(index))

test('a port with many messages lets other callbacks run', async () => {
  const { port1, port2 } = new MessageChannel()
  onTestFinished(() => port1.close())
  const all = Promise.withResolvers<void>()
  const inTheFirstTurn = Promise.withResolvers<number>()
  const received: unknown[] = []
  portTransport(port1).listen({
    packet(packet) {
      if (received.push(packet) === 1) setImmediate(() => inTheFirstTurn.resolve(received.length))
      clock.nowMs += PACKET_MS
      if (received.length === MANY) all.resolve()
    },
    drained() {},
    closed() {},
  })
  for (const number of numbers) port2.postMessage(number)
  expect(await inTheFirstTurn.promise).toBeLessThan(MANY / 2)
  await all.promise
  expect(received).toEqual(numbers)
})

test('two sides that reply to each other at once let other callbacks run', async () => {
  const { port1, port2 } = new MessageChannel()
  const answered = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(`
    const { port, answered } = require('node:worker_threads').workerData
    port.on('message', (text) => {
      port.postMessage(text)
      Atomics.add(answered, 0, 1)
    })
  `, { eval: true, workerData: { port: port2, answered }, transferList: [port2] })
  onTestFinished(() => void worker.terminate())
  await once(worker, 'online')
  const transport = portTransport(port1)
  const { promise: otherCallback, resolve } = Promise.withResolvers<number>()
  let received = 0
  transport.listen({
    packet() {
      if (received++ === 0) setImmediate(() => resolve(received))
      transport.send('again')
      // The next reply is always there before this one is done.
      while (Atomics.load(answered, 0) <= received);
      clock.nowMs += PACKET_MS
    },
    drained() {},
    closed() {},
  })
  for (let ahead = 0; ahead < 4; ahead++) transport.send('again')
  const heardBefore = await otherCallback
  transport.close()
  expect(heardBefore).toBeLessThan(MANY / 2)
})

test('messages that were sent before the other side closed arrive before its end is reported', async () => {
  const { port1, port2 } = new MessageChannel()
  const received: unknown[] = []
  const closed = Promise.withResolvers<unknown>()
  portTransport(port1).listen({
    packet(packet) {
      received.push(packet)
      clock.nowMs += PACKET_MS
    },
    drained() {},
    closed: closed.resolve,
  })
  for (const number of numbers) port2.postMessage(number)
  port2.close()
  expect(await closed.promise).toBeUndefined()
  expect(received).toEqual(numbers)
})

test('no message is delivered after the transport was closed during a long turn', async () => {
  const { port1, port2 } = new MessageChannel()
  const transport = portTransport(port1)
  const closed = Promise.withResolvers<unknown>()
  let received = 0
  transport.listen({
    packet() {
      received++
      clock.nowMs += PACKET_MS
      // The transport waits for the next turn by then.
      if (received === 1) setImmediate(() => transport.close())
    },
    drained() {},
    closed: closed.resolve,
  })
  for (const number of numbers) port2.postMessage(number)
  await closed.promise
  const receivedThen = received
  await new Promise(setImmediate)
  expect(receivedThen).toBeLessThan(MANY)
  expect(received).toBe(receivedThen)
})
