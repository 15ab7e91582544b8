import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromCanonical } from '../../src/dialects/accept.ts'
import { errorOf, present } from '../../src/dialects/reading.ts'
import { anyOutcome } from '../samples/outcomes.ts'

describe('an outcome of a tool in our own form', () => {
  it('is preserved except for metadata that only the host may set', () => {
    fc.assert(fc.property(anyOutcome, (outcome) => {
      const { metadata: { child_loop_id, tokens_used }, ...body } = outcome
      expect(fromCanonical(outcome)).toStrictEqual({ body, metadata: present({ child_loop_id, tokens_used }) })
    }))
  })

  it('takes class and retryable from the table, not from the tool', () => {
    const error = { code: 'ResourceBusy', class: 'Validation', retryable: false }
    expect(fromCanonical({ type: 'error', error_text: 'x', error })?.body)
      .toStrictEqual({ type: 'error', error_text: 'x', error: errorOf('ResourceBusy') })
  })

  it.each([
    ['an unknown code', { type: 'error', error_text: 'x', error: { code: 'Nonsense' } }],
    ['an inherited name for a code', { type: 'error', error_text: 'x', error: { code: 'constructor' } }],
    ['an unknown key', { type: 'output', data: 1, rows: 2 }],
    ['content of another kind', { type: 'output', data: 1, content: ['x'] }],
    ['an unknown completion', { type: 'output', data: 1, completion: { done: true } }],
  ])('is not recognized with %s', (_, value) => {
    expect(fromCanonical(value)).toBeUndefined()
  })
})
