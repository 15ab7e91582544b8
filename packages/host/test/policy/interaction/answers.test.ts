import type { InteractionRequest } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { describe, expect, test } from 'vitest'
import { readApproval, readResponse, readValue } from '../../../src/policy/interaction/interactors.ts'

const ASK: InteractionRequest = { kind: 'Ask', prompt: 'Who?' }
const CONFIRM: InteractionRequest = { kind: 'Confirm', prompt: 'Really?' }
const ONE: InteractionRequest = { kind: 'Select', prompt: 'Which?', options: [{ label: 'a' }, { label: 'b' }] }
const SEVERAL: InteractionRequest = { ...ONE, multiple: true }
const TRUST: InteractionRequest = { kind: 'trustProject', path: '/work', summary: 'one extension' }

describe('an answer', () => {
  test.each<[InteractionRequest, unknown, Json]>([
    [ASK, 'Ada', 'Ada'], [CONFIRM, false, false], [ONE, 'b', 'b'], [SEVERAL, ['a', 'b', 'a'], ['a', 'b']],
    [SEVERAL, [], []], [TRUST, true, true], [TRUST, false, false], [TRUST, 'once', 'once'],
    [TRUST, 'trusted', 'trusted'], [TRUST, 'declined', 'declined'],
  ])('to %o may be %o', (request, value, read) => {
    expect(readValue(request, value)).toEqual(read)
  })

  test.each<[InteractionRequest, unknown]>([
    [ASK, 1], [CONFIRM, 'yes'], [ONE, 'c'], [ONE, ['a']], [SEVERAL, 'a'], [SEVERAL, ['a', 'c']], [SEVERAL, ['a', 1]],
    [TRUST, 'yes'], [TRUST, 1], [TRUST, null], [TRUST, undefined],
  ])('to %o may not be %o', (request, value) => {
    expect(() => readValue(request, value)).toThrow(expect.objectContaining({ code: 'InteractionUnavailable' }))
  })

  test.each<[unknown, unknown]>([
    [{ status: 'timeout', value: 'x' }, { status: 'timeout' }],
    [{ status: 'rejected', reason: 'no' }, { status: 'rejected', reason: 'no' }],
    [{ status: 'rejected', reason: 1 }, { status: 'rejected' }],
    [{ status: 'accepted', value: 'Ada', by: 'x' }, { status: 'accepted', value: 'Ada' }],
  ])('in the form %o is %o', (response, read) => {
    expect(readResponse(ASK, response)).toEqual(read)
  })

  test.each([undefined, 'accepted', { status: 'done', value: 'Ada' }, ['accepted']])(
    'in the form %o is rejected',
    (response) => {
      expect(() => readResponse(ASK, response)).toThrow(expect.objectContaining({ code: 'InteractionUnavailable' }))
    },
  )
})

test.each<[unknown, unknown]>([
  ['session', { decision: 'session' }],
  [
    { decision: 'once', reason: 'fine', by: 'x'.repeat(201) },
    { decision: 'once', reason: 'fine', by: 'x'.repeat(200) },
  ],
  [{ decision: 'once', reason: 1, by: '' }, { decision: 'once' }],
  [true, { decision: 'reject', reason: 'the answer is unknown' }],
  [{ decision: 'always' }, { decision: 'reject', reason: 'the answer is unknown' }],
  [null, { decision: 'reject', reason: 'the answer is unknown' }],
])('an approval of %o is %o', (value, read) => {
  expect(readApproval(value)).toEqual(read)
})
