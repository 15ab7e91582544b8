import { expect, it } from 'vitest'
import { APPROVAL_ANSWERS, TOOL_INTERACTION_KINDS } from '../src/model/interaction.ts'

it('lets a tool raise these kinds of questions, and never its own approval', () => {
  expect(TOOL_INTERACTION_KINDS).toEqual(['Ask', 'Select', 'Confirm', 'Auth.DeviceCode', 'Auth.Password'])
})

it('has exactly these answers to an approval', () => {
  expect(APPROVAL_ANSWERS).toEqual(['once', 'session', 'project', 'reject'])
})
