import type { MachineStage } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import type { ValidatedCall } from '../../src/policy/call.ts'
import { StagePermit } from '../../src/policy/model/stage-permit.ts'

const stage: MachineStage = { stageExecutionId: 'x', name: 'plan', attempt: 1, allowedTools: [] }
const call = (more: object = {}) =>
  ({ id: 'c', tool: { name: 'echo' }, args: { a: 1 }, ...more }) as unknown as ValidatedCall

function permitFor(now: () => MachineStage | undefined = () => stage) {
  const permit = new StagePermit({ id: 'm', stage: now }, stage, call())
  permit.bindTo(call())
  return permit
}

test('is valid for one call', () => {
  const permit = permitFor()
  expect(permit.redeem(call())).toBeUndefined()
  expect(permit.redeem(call())).toBe('its permit was used already')
})

test.each<[string, object]>([
  ['another proposal', { id: 'd' }], ['another tool', { tool: { name: 'other' } }],
  ['other arguments', { args: { a: 2 } }],
])('is invalid for %s, and used up by the attempt', (_, more) => {
  const permit = permitFor()
  expect(permit.redeem(call(more))).toMatch(/^its permit is for (?:another call|other arguments)$/)
  expect(permit.redeem(call())).toBe('its permit was used already')
})

test.each<[string, () => MachineStage | undefined]>([
  ['another execution', () => ({ ...stage, stageExecutionId: 'y' })],
  ['another attempt', () => ({ ...stage, attempt: 2 })],
  ['no stage at all', () => undefined],
  ['a machine that fails', () => { throw new Error('confused') }],
])('is invalid in %s', (_, now) => {
  expect(permitFor(now).redeem(call())).toMatch(/is over$|failed to report its stage/)
})

test('the order of the keys of the arguments does not matter', () => {
  const permit = new StagePermit({ id: 'm', stage: () => stage }, stage, call())
  permit.bindTo(call({ args: { a: 1, b: 2 } }))
  expect(permit.redeem(call({ args: { b: 2, a: 1 } }))).toBeUndefined()
})
