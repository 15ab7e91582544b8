import { ERRORS, type ConfigFile, type ErrorCode, type ToolDefinition } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { backoffMs, mayRetry, retriesOf } from '../../src/model/retries.ts'
import { ManualClock } from '../twin/clock.ts'
import { createWorld } from '../twin/world.ts'

const failure = (code: ErrorCode, message = 'it did not work') =>
  ({ code, class: ERRORS[code].class, retryable: ERRORS[code].retryable, message })
const retries = retriesOf({})
type Repeated = Pick<ToolDefinition, 'effects'>
const acts: Repeated = { effects: 'once' }
const idempotent: Repeated = { effects: 'idempotent' }
const reads: Repeated = { effects: 'none' }

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
  ['WatchdogDenied', 'no', false, false, false],
  ['BudgetExhausted', 'none left', false, false, false],
  ['OutputTooLarge', 'long', false, false, false],
  ['StoreUnavailable', 'the disk is full', false, true, true],
  ['OutcomeUnknown', 'it may have happened', false, false, false],
  ['ExecutionTimeout', 'late', false, false, false],
  ['InteractionTimeout', 'no answer', false, false, false],
  ['CompartmentCrashed', 'it died', false, true, true],
  ['CompartmentKilled', 'it died', false, true, true],
  ['CompartmentOutOfHeap', 'it grew', false, false, false],
  ['CompartmentOutOfMemory', 'it grew', false, false, false],
  ['CompartmentStartTimeout', 'it takes long', false, false, false],
  ['NoPlaceFree', 'full', false, false, false],
  ['TooManyCalls', 'full', false, false, false],
  ['CompartmentQuarantined', 'it rests', false, false, false],
  ['BoundaryViolation', 'no', false, false, false],
  ['ToolCancelled', 'stop', false, false, false],
])('%s (%s): %s %s %s', (code, message, ...expected) => {
  expect([acts, idempotent, reads].map((tool) => mayRetry(failure(code, message), tool, retries))).toEqual(expected)
})

test('after a crash only a call with effects that allow it is tried again', () => {
  const tried = (['none', 'idempotent', 'reversible', 'once'] as const)
    .map((effects) => mayRetry(failure('CompartmentCrashed'), { effects }, retries))
  expect(tried).toEqual([true, true, false, false])
  expect(mayRetry(failure('ExecutionTimeout'), reads, retries)).toBe(false)
})

test('the pause grows by half each time, with jitter', () => {
  for (const attempt of [1, 2, 3]) {
    const pauses = Array.from({ length: 200 }, () => backoffMs(attempt, retries))
    for (const ms of pauses) {
      expect(ms).toBeGreaterThanOrEqual(1.5 ** attempt * 1000)
      expect(ms).toBeLessThan((1.5 ** attempt + 0.5) * 1000)
    }
    expect(new Set(pauses).size).toBeGreaterThan(1)
  }
})

test('an exception is retried where the tool may run twice, and a report of the tool is not', () => {
  const report = failure('ToolExecutionFailed', 'read ECONNRESET')
  const exception = { ...report, isException: true }
  expect([acts, idempotent, reads].map((tool) => mayRetry(exception, tool, retries))).toEqual([false, true, true])
  expect(mayRetry(report, idempotent, retries)).toBe(false)
  expect(mayRetry({ ...exception, message: 'ENOENT: no such file' }, idempotent, retries)).toBe(false)
})

test('attempts, pauses and classes are settings', () => {
  const own = retriesOf({ retries: { attempts: 5, backoffBase: 2, jitterMs: 0, classes: ['ToolTransient'] } })
  expect([own.attempts, backoffMs(3, own)]).toEqual([5, 8_000])
  expect(mayRetry(failure('ResourceBusy'), acts, own)).toBe(true)
  expect(mayRetry(failure('StoreUnavailable'), idempotent, own)).toBe(false)
  expect(mayRetry(failure('CompartmentCrashed'), idempotent, own)).toBe(false)
})

async function failing(message: string, config: ConfigFile) {
  const clock = new ManualClock()
  const execute = () => { throw Object.assign(new Error(message), { code: 'ResourceBusy' }) }
  const world = createWorld({ clock, extensions: [{ tools: { echo: { mode: 'local', execute } } }], config })
  const session = await world.host.openSession({ mode: 'yolo' })
  return { clock, outcome: session.call({ id: 'c1', name: 'echo', arguments: {} }) }
}

test('the configuration sets how often a call is tried', async () => {
  const once = await failing('busy', { retries: { attempts: 1 } })
  expect(await once.outcome).toMatchObject({ error: { code: 'ResourceBusy' }, metadata: { attempt: 1 } })
  const { clock, outcome } = await failing('busy', { retries: { attempts: 4, backoffBase: 1, jitterMs: 0 } })
  await clock.advance(3_000)
  expect(await outcome).toMatchObject({
    error: { code: 'MaxRetriesExceeded', data: { attempts: 4 } }, metadata: { attempt: 4, duration_ms: 3_000 },
  })
})

test('a fault that lasts is not answered with advice to try again', async () => {
  const { outcome } = await failing('No such file: a.txt.', {})
  expect(await outcome).toMatchObject({ error: { code: 'ResourceBusy' }, error_text: 'No such file: a.txt.' })
})
