import { expect, it } from 'vitest'
import { APPROVAL_ANSWERS, TOOL_INTERACTION_KINDS } from '../src/model/interaction.ts'

it('a tool may ask these kinds of questions, but not for its own approval', () => {
  expect(TOOL_INTERACTION_KINDS).toEqual(['Ask', 'Select', 'Confirm', 'Form', 'Auth.DeviceCode', 'Auth.Password'])
})

it('an approval has exactly these answers', () => {
  expect(APPROVAL_ANSWERS).toEqual(['once', 'session', 'project', 'later', 'reject'])
})
