import { expect, test } from 'vitest'
import { isLasting, type Failure } from '../../src/model/retries.ts'

type FailureReport = Pick<Failure, 'code' | 'message' | 'data'>

/** A tool that reports every error as transient. */
const busy = (message: string, data?: FailureReport['data']): FailureReport => ({ code: 'ResourceBusy', message, data })

test.each<[string, FailureReport]>([
  ['a file that is not there, by code', { code: 'NotFound', message: 'gone' }],
  ['a file that is not there', busy('File not found: a.txt')],
  ['a file that is not there, of the system', busy('ENOENT: no such file or directory, open a.txt')],
  ['a path outside the workspace', busy('The path is outside the workspace.')],
  ['a path outside, by code', { code: 'CapabilityDenied', message: 'no' }],
  ['a security block', busy('Command blocked for security reasons')],
  ['a command that is never run', { code: 'WatchdogDenied', message: 'no' }],
  ['a budget that is used up', { code: 'BudgetExhausted', message: 'none left' }],
  ['a budget that is used up, in words', busy('token budget exceeded')],
  ['the state of a repository', busy('fatal: not a git repository')],
  ['nothing to commit', busy('nothing to commit, working tree clean')],
  ['a diff that is rejected', busy('Hunk #1 FAILED at 12: patch rejected')],
  ['a patch that does not apply', busy('error: patch failed: a.ts:1 does not apply')],
  ['tests that failed', busy('the run ended', { passed: 3, failed: 2 })],
  ['tests that could not be run', busy('the run ended', { passed: 3, failed: 0, errors: 1 })],
  ['wrong arguments', { code: 'InputInvalid', message: 'no' }],
])('%s is not retried', (_, failure) => {
  expect(isLasting(failure)).toBe(true)
})

test.each<[string, FailureReport]>([
  ['what is busy', busy('the printer is busy')],
  ['a connection that was reset', busy('read ECONNRESET')],
  ['a service that is overloaded', busy('503 Service Unavailable')],
  ['a run without a failing test', busy('the connection was lost', { passed: 3, failed: 0, errors: 0 })],
  ['counts that are none', busy('lost', { failed: '2', errors: null })],
])('%s may be retried', (_, failure) => {
  expect(isLasting(failure)).toBe(false)
})
