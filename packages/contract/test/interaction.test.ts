import { expect, it } from 'vitest'
import { APPROVAL_ANSWERS, INTERACTION_KINDS, TOOL_INTERACTION_KINDS, type InteractionKind } from '../src/model/interaction.ts'

it('has exactly these kinds of questions', () => {
  expect(INTERACTION_KINDS)
    .toEqual(['Ask', 'Select', 'Confirm', 'Approve', 'Auth.DeviceCode', 'Auth.Password', 'grantStageTool', 'trustProject'])
  const whole: InteractionKind extends (typeof INTERACTION_KINDS)[number] ? true : false = true
  expect(whole).toBe(true)
})

it('lets a tool ask these, and never for its own approval', () => {
  expect(TOOL_INTERACTION_KINDS).toEqual(['Ask', 'Select', 'Confirm', 'Auth.DeviceCode', 'Auth.Password'])
})

it('has exactly these answers to an approval', () => {
  expect(APPROVAL_ANSWERS).toEqual(['once', 'session', 'project', 'reject'])
})
