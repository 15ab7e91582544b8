import { BulkheadError, ERRORS } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { errorBody } from '../../src/model/outcome.ts'

test('an error describes the problem and the cure, and has data', () => {
  expect(errorBody(new BulkheadError('ToolsDisabled', 'Tools are off', { data: { tool: 'x' } }))).toEqual({
    type: 'error',
    error_text: `Tools are off. ${ERRORS.ToolsDisabled.cure}`,
    error: { code: 'ToolsDisabled', class: 'ToolTerminal', retryable: false, data: { tool: 'x' } },
    completion: { needsFollowup: true },
  })
})

test('the error text of a tool is unchanged', () => {
  expect(errorBody(new BulkheadError('ToolExecutionFailed', 'no such city')).error_text).toBe('no such city')
})

test('cancellation and a closed host end the run; a call skipped by steering does not', () => {
  const completion = (code: 'ToolCancelled' | 'SessionCancelled' | 'HostClosed' | 'SkippedBySteering') => errorBody(
    new BulkheadError(code, 'x'),
  ).completion
  expect(completion('ToolCancelled')).toEqual({ terminal: true })
  expect(completion('SessionCancelled')).toEqual({ terminal: true })
  expect(completion('HostClosed')).toEqual({ terminal: true })
  expect(completion('SkippedBySteering')).toEqual({ needsFollowup: true })
})
