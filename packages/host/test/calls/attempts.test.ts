import { ERRORS, type ErrorCode, type ToolMode } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { backoffMs, mayRetry } from '../../src/calls/execute.ts'

const failure = (code: ErrorCode, message = 'it did not work') =>
  ({ code, class: ERRORS[code].class, retryable: ERRORS[code].retryable, message })
const acts = { idempotent: false, mode: 'external' as ToolMode }
const idempotent = { ...acts, idempotent: true }
const reads = { ...acts, mode: 'read' as ToolMode }

test.each<[ErrorCode, string, boolean, boolean, boolean]>([
  // code, message, whether it is tried again for a tool that acts, an idempotent one, one that reads
  ['ResourceBusy', 'busy', true, true, true],
  ['ResourceBusy', 'File not found', false, false, false],
  ['ResourceBusy', 'outside the workspace', false, false, false],
  ['ResourceBusy', 'blocked', false, false, false],
  ['ToolExecutionFailed', 'wrong', false, false, false],
  ['NotFound', 'gone', false, false, false],
  ['InputInvalid', 'no', false, false, false],
  ['CapabilityDenied', 'no', false, false, false],
  ['CommandRejected', 'no', false, false, false],
  ['BudgetExhausted', 'none left', false, false, false],
  ['OutputTooLarge', 'long', false, false, false],
  ['StoreUnavailable', 'the disk is full', false, true, true],
  ['ExecutionTimeout', 'late', false, false, false],
  ['InteractionTimeout', 'no answer', false, false, false],
  ['CompartmentCrashed', 'it died', false, true, false],
  ['CompartmentKilled', 'it died', false, true, false],
  ['CompartmentOutOfHeap', 'it grew', false, false, false],
  ['CompartmentOutOfMemory', 'it grew', false, false, false],
  ['CompartmentStartTimeout', 'it takes long', false, false, false],
  ['NoPlaceFree', 'full', false, false, false],
  ['TooManyCalls', 'full', false, false, false],
  ['CompartmentQuarantined', 'it rests', false, false, false],
  ['BoundaryViolation', 'no', false, false, false],
  ['ToolCancelled', 'stop', false, false, false],
])('%s (%s): %s %s %s', (code, message, ...expected) => {
  expect([acts, idempotent, reads].map((tool) => mayRetry(failure(code, message), tool))).toEqual(expected)
})

test('the pause grows by half each time, with jitter', () => {
  for (const attempt of [1, 2, 3]) {
    const pauses = Array.from({ length: 200 }, () => backoffMs(attempt))
    for (const ms of pauses) {
      expect(ms).toBeGreaterThanOrEqual(1.5 ** attempt * 1000)
      expect(ms).toBeLessThan((1.5 ** attempt + 0.5) * 1000)
    }
    expect(new Set(pauses).size).toBeGreaterThan(1)
  }
})
