import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  fromMorphix, toMorphix, type MorphixFailure, type MorphixPaused, type MorphixSuccess,
} from '../../src/dialects/morphix.ts'
import { completeOutcome, errorOf, type Reading } from '../../src/dialects/reading.ts'
import type { ErrorCode } from '../../src/model/errors.ts'
import type { Outcome } from '../../src/model/outcome.ts'
import type { Json } from '@bulkhead/kit/json'
import { anyJson } from '../../../kit/test/samples/json.ts'
import { anyOutcome, anyOutput, anyText, base, plainRecord } from '../samples/outcomes.ts'

const STRINGS = [
  'tools_disabled', 'tool_not_found', 'permission_denied', 'approval_denied', 'token_budget_exceeded',
  'tool_reported_failure',
  'tests_failed',
  'max_retries_exceeded', 'empty_tool_name', 'missing_required_param', 'mcp_client_not_found', 'tool_timeout',
]
const failed = (code: ErrorCode): Outcome => ({ type: 'error', error_text: 'no', error: errorOf(code), metadata: base })

const anySuccess: fc.Arbitrary<MorphixSuccess> = fc.record({
  success: fc.constant(true as const), tool: anyText, output: anyJson, tokens_used: fc.nat(),
  duration: fc.nat(10_000_000).map((ms) => ms / 1000), attempt: fc.integer({ min: 1, max: 3 }),
}, plainRecord)
const anyFailure: fc.Arbitrary<MorphixFailure> = fc.record({
  success: fc.constant(false as const), tool: fc.constantFrom('read', 'mcp:git.log', 'test_runner'),
  error: fc.oneof(fc.constantFrom(...STRINGS), anyText), output: fc.oneof(anyText, anyJson),
}, plainRecord).map(({ tool, ...failure }) => failure.error === 'empty_tool_name' ? failure : { ...failure, tool })
const anyPaused: fc.Arbitrary<MorphixPaused> = fc.record({
  status: fc.constant('clarification_needed' as const), clarification_question: anyText,
  clarification_options: fc.array(anyText, { maxLength: 3 }),
  paused_loop_state: fc.record({ paused: anyText }, plainRecord),
}, plainRecord)

describe("morphix's result", () => {
  it('has exactly the documented fields', () => {
    expect(
      toMorphix({ type: 'output', data: [1], metadata: { ...base, duration_ms: 1234, attempt: 2, tokens_used: 9 } }),
    )
      .toStrictEqual({
      success: true, tool: 'base', output: [1], tokens_used: 9, duration: 1.234, attempt: 2,
    })
    expect(toMorphix(failed('ToolNotRegistered')))
      .toStrictEqual({ success: false, tool: 'base', error: 'tool_not_found', output: 'no' })
  })

  it.each<[ErrorCode, string]>([
    ['ToolsDisabled', 'tools_disabled'],
    ['ToolNotRegistered', 'tool_not_found'],
    ['RoleDenied', 'permission_denied'],
    ['ApprovalDenied', 'approval_denied'],
    ['BudgetExhausted', 'token_budget_exceeded'],
    ['InputInvalid', 'missing_required_param'],
    ['ExecutionTimeout', 'tool_timeout'],
    ['MaxRetriesExceeded', 'max_retries_exceeded'],
    ['ToolExecutionFailed', 'tool_reported_failure'],
  ])('writes %s as %s and reads it back', (code, string) => {
    expect(toMorphix(failed(code))).toMatchObject({ error: string })
    expect(fromMorphix({ success: false, error: string, output: 'no' })?.body)
      .toStrictEqual({ type: 'error', error_text: 'no', error: errorOf(code) })
  })

  it.each<[ErrorCode, string]>([
    ['CapabilityDenied', 'permission_denied'], ['RuleDenied', 'permission_denied'],
    ['WatchdogDenied', 'permission_denied'],
    ['GuardDenied', 'permission_denied'], ['HookVetoed', 'permission_denied'],
    ['CompartmentCrashed', 'tool_reported_failure'], ['SessionCancelled', 'tool_reported_failure'],
  ])('writes %s, which has no string of its own, as %s', (code, string) => {
    expect(toMorphix(failed(code))).toMatchObject({ error: string })
  })

  it.each([
    ['tests_failed', 'ToolExecutionFailed'], ['empty_tool_name', 'ToolNotRegistered'],
    ['mcp_client_not_found', 'ToolNotRegistered'],
    ['ValueError: boom', 'ToolExecutionFailed'],
  ])('reads %s as %s and keeps the original', (string, code) => {
    const read = fromMorphix({ success: false, error: string, output: 'no' })!
    expect(read.body).toMatchObject({ error: { code, data: { morphix: { error: string } } } })
    expect(toMorphix(completeOutcome(read, base))).toMatchObject({ error: string })
  })

  it.each<[string, string, ErrorCode, Json | undefined, string]>([
    ['a blank name', '', 'InputInvalid', undefined, 'empty_tool_name'],
    ['a blank name', ' \t', 'ToolNotRegistered', undefined, 'empty_tool_name'],
    ['a tool of an unknown server', 'mcp:nowhere.log', 'ToolNotRegistered', undefined, 'mcp_client_not_found'],
    ['an unknown tool', 'raed', 'ToolNotRegistered', undefined, 'tool_not_found'],
    ['failed tests', 'test_runner', 'ToolExecutionFailed', { failed_count: 2 }, 'tests_failed'],
    ['broken tests', 'test_runner', 'ToolExecutionFailed', { error_count: 1 }, 'tests_failed'],
    ['tests that did not run', 'test_runner', 'ToolExecutionFailed', { failed_count: 0 }, 'tool_reported_failure'],
  ])('has a string for %s: %j %s %j is %s', (_, tool, code, data, string) => {
    const outcome: Outcome = {
      type: 'error', error_text: 'no', error: errorOf(code, data), metadata: { ...base, tool },
    }
    expect(toMorphix(outcome)).toStrictEqual(
      string === 'empty_tool_name'
        ? { success: false, error: string, output: 'no' } : { success: false, tool, error: string, output: 'no' },
    )
  })

  it('is a failure for a test runner that counts failed tests', () => {
    const outcome = (count: number): Outcome =>
      ({ type: 'output', data: { passed: 3, failed: count }, metadata: { ...base, tool: 'test_runner' } })
    expect(toMorphix(outcome(2)))
      .toStrictEqual({ success: false, tool: 'test_runner', error: 'tests_failed', output: { passed: 3, failed: 2 } })
    expect(toMorphix(outcome(0))).toMatchObject({ success: true, output: { passed: 3, failed: 0 } })
  })

  it('is a status for a question that waits', () => {
    const options = [{ label: 'a', description: 'first' }, { label: 'b' }]
    const question = { kind: 'Select', prompt: 'Which?', options }
    const outcome: Outcome = {
      type: 'error', error_text: 'It waits.', error: errorOf('ClarificationNeeded', { paused: 'p1', question }),
      metadata: base,
    }
    const paused = {
      status: 'clarification_needed', clarification_question: 'Which?', clarification_options: ['a', 'b'],
      paused_loop_state: { paused: 'p1' },
    }
    expect(toMorphix(outcome)).toStrictEqual(paused)
    expect(fromMorphix(paused)?.body).toStrictEqual({
      type: 'error', error_text: 'Which?', error: errorOf('ClarificationNeeded', {
        paused: 'p1', question: { kind: 'Select', prompt: 'Which?', options: [{ label: 'a' }, { label: 'b' }] },
      }),
    })
    expect(toMorphix(failed('ClarificationNeeded'))).toStrictEqual({
      status: 'clarification_needed', clarification_question: 'no', clarification_options: [], paused_loop_state: {},
    })
  })

  it('repeats an original string only if it means the same code', () => {
    const outcome: Outcome = { type: 'error', error_text: 'no',
      error: errorOf('RuleDenied', { morphix: { error: 'tests_failed' } }), metadata: base }
    expect(toMorphix(outcome)).toMatchObject({ error: 'permission_denied' })
  })

  it('preserves its part of any output', () => {
    fc.assert(fc.property(anyOutput, (outcome) => {
      const { tool, duration_ms, attempt, tokens_used = 0 } = outcome.metadata
      const carried: Reading = { body: { type: 'output', data: outcome.data },
        metadata: { tool, tokens_used, duration_ms, attempt } }
      expect(fromMorphix(toMorphix(outcome))).toStrictEqual(carried)
    }))
  })

  it('is stable after one round trip of any outcome', () => {
    fc.assert(fc.property(anyOutcome, (outcome) => {
      const once = toMorphix(outcome)
      expect(toMorphix(completeOutcome(fromMorphix(once)!, base))).toStrictEqual(once)
    }))
  })

  it('preserves any result', () => {
    fc.assert(fc.property(fc.oneof(anySuccess, anyFailure, anyPaused), (result) => {
      expect(toMorphix(completeOutcome(fromMorphix(result)!, base))).toStrictEqual(result)
    }))
  })

  it('always has output for the model', () => {
    expect(fromMorphix({ success: false, error: 'tests_failed', output: null })?.body)
      .toMatchObject({ error_text: 'The tool failed: tests_failed.' })
    expect(fromMorphix({ success: false, error: 'tests_failed', output: { failed: 2 } })?.body)
      .toMatchObject({ error_text: 'The tool failed: tests_failed. {"failed":2}' })
    expect(fromMorphix({ success: false, error: '', output: '' })?.body)
      .toMatchObject({ error_text: 'The tool failed and did not say why.' })
  })

  it.each([
    ['no output', { success: true, tool: 'x' }],
    ['an unknown key', { success: true, output: 1, rows: 2 }],
    ['a failure without an error', { success: false, output: 'x' }],
    ['a negative duration', { success: true, output: 1, duration: -1 }],
    ['an attempt of zero', { success: true, output: 1, attempt: 0 }],
    ['success that is no boolean', { success: 1, output: 1 }],
  ])('is not recognized with %s', (_, value) => {
    expect(fromMorphix(value)).toBeUndefined()
  })
})
