import { expect, it } from 'vitest'
import { auditRecord } from '../src/index.ts'

it('a row gives the record of its form with sorted members', () => {
  const record = auditRecord({ same: { tool: 'echo', at: 'then' }, own: ['callId', 'args'] }, [0, 'c1', { b: 1 }])
  expect(record).toEqual({ args: { b: 1 }, at: 'then', callId: 'c1', tool: 'echo' })
  expect(Object.keys(record)).toEqual(['args', 'at', 'callId', 'tool'])
})

it('a member may have any name, such as __proto__', () => {
  const record = auditRecord({ same: {}, own: ['__proto__'] }, [0, { polluted: true }])
  expect(Object.keys(record)).toEqual(['__proto__'])
  expect('polluted' in record).toBe(false)
})
