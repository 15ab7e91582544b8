import { expect, test } from 'vitest'
import { Deadline, JointPause } from '../../src/model/deadline.ts'
import { ManualClock } from '../twin/clock.ts'

function ticking(ms: number) {
  const clock = new ManualClock()
  const state = { expired: 0 }
  const deadline = new Deadline(clock, ms, () => { state.expired += 1 })
  return { clock, deadline, state }
}

test('expires once, when the time is over', async () => {
  const { clock, state } = ticking(100)
  await clock.advance(99)
  expect(state.expired).toBe(0)
  await clock.advance(1)
  await clock.advance(1_000)
  expect(state.expired).toBe(1)
})

test('is paused until every pause is over', async () => {
  const { clock, deadline, state } = ticking(100)
  await clock.advance(60)
  const first = deadline.pause()
  const second = deadline.pause()
  await clock.advance(10_000)
  first()
  first()
  await clock.advance(10_000)
  expect(state.expired).toBe(0)
  second()
  await clock.advance(39)
  expect(state.expired).toBe(0)
  await clock.advance(1)
  expect(state.expired).toBe(1)
})

test('reports the remaining time without pauses', async () => {
  const { clock, deadline } = ticking(100)
  await clock.advance(30)
  expect(deadline.leftMs).toBe(70)
  const resume = deadline.pause()
  await clock.advance(1_000)
  expect(deadline.leftMs).toBe(70)
  resume()
  await clock.advance(20)
  deadline.stop()
  expect(deadline.leftMs).toBe(50)
})

test('a stopped deadline never expires and holds no timer, paused or not', async () => {
  const { clock, deadline, state } = ticking(100)
  const resume = deadline.pause()
  deadline.stop()
  resume()
  deadline.stop()
  await clock.advance(1_000)
  expect(state.expired).toBe(0)
  expect(clock.pending).toBe(0)
})

test('members are paused together, also one that joins during a pause, and one that leaves continues', async () => {
  const clock = new ManualClock()
  const joint = new JointPause()
  const over: string[] = []
  const join = (name: string) => {
    const deadline = new Deadline(clock, 100, () => over.push(name))
    return joint.join(() => deadline.pause())
  }
  join('early')
  const resumes = [joint.pause(), joint.pause()]
  join('late')
  const leave = join('leaves')
  await clock.advance(1_000)
  expect(over).toEqual([])
  leave()
  leave()
  await clock.advance(100)
  expect(over).toEqual(['leaves'])
  resumes[0]!()
  resumes[0]!()
  await clock.advance(1_000)
  expect(over).toEqual(['leaves'])
  resumes[1]!()
  await clock.advance(99)
  expect(over).toEqual(['leaves'])
  await clock.advance(1)
  expect(over.toSorted()).toEqual(['early', 'late', 'leaves'])
})

test('a second pause works like the first', async () => {
  const clock = new ManualClock()
  const joint = new JointPause()
  let over = false
  const deadline = new Deadline(clock, 100, () => { over = true })
  joint.join(() => deadline.pause())
  for (let round = 0; round < 2; round++) {
    const resume = joint.pause()
    await clock.advance(1_000)
    resume()
    await clock.advance(40)
  }
  expect(over).toBe(false)
  await clock.advance(20)
  expect(over).toBe(true)
})
