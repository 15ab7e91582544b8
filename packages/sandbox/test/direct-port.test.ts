import { once } from 'node:events'
import { MessageChannel } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { takeDirectly } from '../src/wire/direct-port.ts'

function taken() {
  const { port1: port, port2: other } = new MessageChannel()
  const direct: unknown[] = []
  const heard: unknown[] = []
  const listener = (message: unknown): void => void heard.push(message)
  takeDirectly(port, (message) => void direct.push(message))
  port.on('message', listener)
  return { port, other, direct, heard, listener }
}
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await turn()
}

test('messages are taken in their order, and no event is made of them', async () => {
  const { other, direct, heard } = taken()
  other.postMessage('one')
  other.postMessage({ two: 2 })
  await until(() => direct.length === 2)
  expect(direct).toEqual(['one', { two: 2 }])
  expect(heard).toEqual([])
  other.close()
})

test('a port without a listener keeps its messages', async () => {
  const { port, other, direct, listener } = taken()
  port.off('message', listener)
  other.postMessage('early')
  for (let turns = 0; turns < 10; turns++) await turn()
  expect(direct).toEqual([])
  port.on('message', listener)
  await until(() => direct.length === 1)
  expect(direct).toEqual(['early'])
  other.close()
})

test('a closed other side is reported as always', async () => {
  const { port, other } = taken()
  const closed = once(port, 'close')
  other.close()
  await closed
})

test('a port that is not what it was is left as it is', () => {
  const { port, other } = taken()
  const stranger = Object.create(null) as typeof port
  takeDirectly(stranger, () => undefined)
  expect(Reflect.ownKeys(stranger)).toEqual([])
  other.close()
})
