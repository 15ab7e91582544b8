import type { Outcome } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import '../../src/testing/vitest.ts'

const metadata = { call_id: '1', tool: 't', origin: null, duration_ms: 1, attempt: 1 }
const output: Outcome = { type: 'output', data: { a: [1, 2], b: 'x' }, metadata }
const error: Outcome = {
  type: 'error', error_text: 'No such file.', error: { code: 'NotFound', class: 'tool', retryable: false } as never,
  metadata,
}
const faultOf = (assertion: () => void): string => {
  try {
    assertion()
  } catch (thrown) {
    return (thrown as Error).message
  }
  return 'passed'
}

it('accepts what fits', () => {
  expect(output).toSucceedWith({ a: [1, 2], b: 'x' })
  expect(output).toSucceedWith(expect.objectContaining({ b: expect.any(String) }))
  expect(output).not.toSucceedWith({ a: [1, 2] })
  expect(output).not.toFailWith('NotFound')
  expect(error).toFailWith('NotFound')
  expect(error).not.toFailWith('ExecutionTimeout')
  expect(error).not.toSucceedWith(undefined)
})

it('says what the call did instead', () => {
  expect(faultOf(() => expect(error).toSucceedWith(1))).toBe('The call failed. NotFound: No such file.')
  expect(faultOf(() => expect(error).toFailWith('ExecutionTimeout'))).toBe(
    'The call failed with NotFound instead of ExecutionTimeout: No such file.',
  )
  expect(faultOf(() => expect(error).not.toFailWith('NotFound'))).toBe('The call failed with NotFound: No such file.')
  expect(faultOf(() => expect(output).toFailWith('ExecutionTimeout'))).toMatch(
    /^The call succeeded instead of failing with ExecutionTimeout: /,
  )
  expect(faultOf(() => expect(output).toSucceedWith({}))).toMatch(/^The call succeeded with other data: /)
  expect(faultOf(() => expect(output).not.toSucceedWith(output.type === 'output' && output.data))).toMatch(
    /^The call succeeded with this data: /,
  )
})

it('notices a call that was not awaited, and what is no outcome', () => {
  expect(faultOf(() => expect(Promise.resolve(output)).toSucceedWith(1))).toBe(
    'The matcher got a promise instead of an outcome. Await the call first.',
  )
  expect(faultOf(() => expect({}).not.toFailWith('ExecutionTimeout'))).toMatch(/instead of an outcome/)
  expect(faultOf(() => expect(undefined).not.toFailWith('ExecutionTimeout'))).toMatch(/instead of an outcome/)
})
