import { expect, it } from 'vitest'
import { CallPhases } from '../../src/model/call-phases.ts'

const use = {
  tool: 'read', part: 'fs.read', subject: 'a', ms: 2, failed: false, readBytes: 3, writtenBytes: 0,
} as const

it('has the phases of a call in order, without those that took no time', () => {
  const phases = new CallPhases()
  phases.enter('person', 101)
  phases.enter('policy', 111)
  phases.enter('queue', 111.2)
  phases.enter('run', 112)
  phases.enter('settle', 120)
  expect(phases.summary(100, 120.1)).toEqual({
    phases: [
      { kind: 'policy', fromMs: 0, ms: 1 }, { kind: 'person', fromMs: 1, ms: 10 },
      { kind: 'queue', fromMs: 11.2, ms: 0.8 }, { kind: 'run', fromMs: 12, ms: 8 },
    ],
  })
  expect(phases.summary(116, 120.1)).toEqual({})
})

it('lists the first uses, and counts the others', () => {
  const phases = new CallPhases()
  for (let count = 0; count < 35; count++) phases.used({ ...use, failed: count === 1 }, 103 + count)
  const { uses, moreUses } = phases.summary(100, 104)
  expect(uses).toHaveLength(32)
  expect(uses!.slice(0, 2)).toEqual([
    { part: 'fs.read', subject: 'a', fromMs: 1, ms: 2, readBytes: 3 },
    { part: 'fs.read', subject: 'a', fromMs: 2, ms: 2, readBytes: 3, failed: true },
  ])
  expect(moreUses).toBe(3)
})
