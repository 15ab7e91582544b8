import { expect, test } from 'vitest'
import { Deadline } from '../../src/model/deadline.ts'
import { JointPause } from '../../src/model/joint-pause.ts'
import { ManualClock } from '../twin/clock.ts'

test('members stand still together, also one that joins during a pause, and one that leaves goes on', async () => {
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

test('pausing again after a pause', async () => {
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
