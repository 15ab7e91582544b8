import { expect, test } from 'vitest'
import { Mutex } from '../../src/model/waiting.ts'
import { flush } from '../twin/clock.ts'

const { signal: never } = new AbortController()

test('runs one task at a time, in the order of arrival', async () => {
  const mutex = new Mutex()
  const log: string[] = []
  const gates = ['a', 'b', 'c'].map((name) => ({ name, gate: Promise.withResolvers<void>() }))
  const passed = gates.map(({ name, gate }) => mutex.run(never, async () => {
    log.push(`${name} in`)
    await gate.promise
    log.push(`${name} out`)
    return name
  }))
  gates[2]!.gate.resolve()
  gates[1]!.gate.resolve()
  await flush()
  expect(log).toEqual(['a in'])
  gates[0]!.gate.resolve()
  expect(await Promise.all(passed)).toEqual(['a', 'b', 'c'])
  expect(log).toEqual(['a in', 'a out', 'b in', 'b out', 'c in', 'c out'])
})

test('a task that is aborted while it waits never runs, and the others keep their order', async () => {
  const mutex = new Mutex()
  const gate = Promise.withResolvers<void>()
  const giveUp = new AbortController()
  const log: string[] = []
  const first = mutex.run(never, () => gate.promise)
  const second = mutex.run(giveUp.signal, async () => { log.push('second') })
  const third = mutex.run(never, async () => { log.push('third') })
  giveUp.abort(new Error('gave up'))
  await expect(second).rejects.toThrow('gave up')
  expect(log).toEqual([])
  gate.resolve()
  await Promise.all([first, third])
  expect(log).toEqual(['third'])
})

test('an aborted task that hangs and a task that throws free the mutex', async () => {
  const mutex = new Mutex()
  const giveUp = new AbortController()
  const hanging = mutex.run(giveUp.signal, () => new Promise(() => {}))
  const throwing = mutex.run(never, async () => { throw new Error('bad') })
  const last = mutex.run(never, async () => 'through')
  giveUp.abort(new Error('stop'))
  await expect(hanging).rejects.toThrow('stop')
  await expect(throwing).rejects.toThrow('bad')
  await expect(last).resolves.toBe('through')
})
