import { expect, it } from 'vitest'
import { encodeEvent, Subscriber } from '../../src/server/events/subscriber.ts'

const event = (text: string) => encodeEvent({ type: 'changed', what: 'tools', ...{ text } } as never)
const opened = (now: () => number = () => 0) => {
  let ends = 0
  const subscriber = new Subscriber(new Set(), () => { ends++ }, now)
  const reader = subscriber.stream.getReader()
  const read = async () => new TextDecoder().decode((await reader.read()).value)
  return { subscriber, reader, read, ends: () => ends }
}

it('sends what it kept while the client did not read, at once and in order', async () => {
  const { subscriber, read } = opened()
  subscriber.send(event('one'))
  subscriber.send(event('two'))
  expect(await read()).toMatch(/one.*\n\n.*\n.*two/)
  const next = read()
  await Promise.resolve()
  subscriber.send(event('three'))
  expect(await next).toMatch('three')
})

it('keeps at most 1 MiB: then the client gets resync in place of everything', async () => {
  const { subscriber, read } = opened()
  for (let count = 0; count < 20; count++) subscriber.send(event(`${count} ${'x'.repeat(100_000)}`))
  const text = await read()
  expect(text.startsWith('event: resync\n')).toBe(true)
  expect(text.length).toBeLessThan(1024 * 1024)
})

it('cuts a client that reads nothing for 15 s, and only that one', async () => {
  let now = 0
  const stalled = opened(() => now)
  const idle = opened(() => now)
  const pending = idle.read()
  await Promise.resolve()
  stalled.subscriber.send(event('one'))
  now = 15_001
  stalled.subscriber.tick()
  idle.subscriber.tick()
  expect([stalled.ends(), idle.ends()]).toEqual([1, 0])
  expect((await stalled.reader.read()).done).toBe(true)
  expect(await pending).toMatch(/^: /)
})

it('ends once, also if the client cancels', async () => {
  const { subscriber, reader, ends } = opened()
  await reader.cancel()
  subscriber.end()
  subscriber.send(event('late'))
  expect(ends()).toBe(1)
})
