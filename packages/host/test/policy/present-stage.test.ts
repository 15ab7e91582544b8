import type { MachineStage } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { presentStage } from '../../src/policy/model/stage-permit.ts'

const STAGE: MachineStage = { stageExecutionId: 's1', name: 'draft', attempt: 1, allowedTools: ['echo'] }
const stageOf = (stage: unknown) => presentStage({ id: 'm', stage: () => stage as MachineStage })

test('the machine reports the current stage, or none', () => {
  expect(stageOf(STAGE)).toBe(STAGE)
  expect(stageOf(undefined)).toBeUndefined()
})

test.each<[string, unknown]>([
  ['nothing', null],
  ['a text', 'draft'],
  ['a promise', Promise.resolve(STAGE)],
  ['without an execution', { ...STAGE, stageExecutionId: undefined }],
  ['without a name', { ...STAGE, name: 1 }],
  ['without an attempt', { ...STAGE, attempt: '1' }],
  ['with half an attempt', { ...STAGE, attempt: 1.5 }],
  ['with tools that are no list', { ...STAGE, allowedTools: 'echo' }],
])('a stage that is %s is rejected with a reason', (_, stage) => {
  expect(() => stageOf(stage)).toThrow('does not have the documented form')
})
