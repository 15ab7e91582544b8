import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { MessageChannel, Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { portTransport } from '../src/wire/port-transport.ts'

const MANY = 100
const numbers = Array.from({ length: MANY }, (_, index) => String(index))

test('a port that has much to tell leaves others their turn', async () => {
  const { port1, port2 } = new MessageChannel()
  onTestFinished(() => port1.close())
  const all = Promise.withResolvers<void>()
  const inTheFirstTurn = Promise.withResolvers<number>()
  const heard: unknown[] = []
  portTransport(port1).listen({
    packet(packet) {
      if (heard.push(packet) === 1) setImmediate(() => inTheFirstTurn.resolve(heard.length))
      spin(1)
      if (heard.length === MANY) all.resolve()
    },
    drained() {},
    closed() {},
  })
  for (const number of numbers) port2.postMessage(number)
  expect(await inTheFirstTurn.promise).toBeLessThan(MANY / 2)
  await all.promise
  expect(heard).toEqual(numbers)
})

test('two sides that answer each other at once leave others their turn', async () => {
  const { port1, port2 } = new MessageChannel()
  const worker = new Worker(`require('node:worker_threads').workerData.on('message', function (text) { this.postMessage(text) })`,
    { eval: true, workerData: port2, transferList: [port2] })
  onTestFinished(() => void worker.terminate())
  await once(worker, 'online')
  const transport = portTransport(port1)
  const { promise: timer, resolve } = Promise.withResolvers<number>()
  let heard = 0
  transport.listen({
    packet() {
      if (heard++ === 0) setTimeout(() => resolve(heard), 1)
      spin(1)
      transport.send('again')
    },
    drained() {},
    closed() {},
  })
  // Always more of them under way than are taken meanwhile.
  for (let ahead = 0; ahead < 4; ahead++) transport.send('again')
  expect(await timer).toBeLessThan(MANY / 2)
  transport.close()
})

test('messages that were sent before the other side closed arrive before its end is reported', async () => {
  const { port1, port2 } = new MessageChannel()
  const heard: unknown[] = []
  const closed = Promise.withResolvers<unknown>()
  portTransport(port1).listen({
    packet(packet) {
      heard.push(packet)
      spin(1)
    },
    drained() {},
    closed: closed.resolve,
  })
  for (const number of numbers) port2.postMessage(number)
  port2.close()
  expect(await closed.promise).toBeUndefined()
  expect(heard).toEqual(numbers)
})

test('no message is delivered after the transport was closed during a long turn', async () => {
  const { port1, port2 } = new MessageChannel()
  const transport = portTransport(port1)
  const closed = Promise.withResolvers<unknown>()
  let heard = 0
  transport.listen({
    packet() {
      heard++
      spin(1)
      // By then it waits for the next turn.
      if (heard === 1) setImmediate(() => transport.close())
    },
    drained() {},
    closed: closed.resolve,
  })
  for (const number of numbers) port2.postMessage(number)
  await closed.promise
  const heardThen = heard
  await new Promise(setImmediate)
  expect(heardThen).toBeLessThan(MANY)
  expect(heard).toBe(heardThen)
})

function spin(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end;);
}
