import { expect, test } from 'vitest'
import { OpenWork } from '../../src/model/wait-group.ts'
import { flush } from '../twin/clock.ts'

test('none when as much has left as came, at once when nothing is there', async () => {
  const work = new OpenWork()
  await work.whenNone()
  work.enter(2)
  work.enter(1)
  let none = false
  const waiting = Promise.all([work.whenNone(), work.whenNone()]).then(() => { none = true })
  work.leave(2)
  await flush()
  expect([none, work.size]).toEqual([false, 1])
  work.leave(1)
  await waiting
})
