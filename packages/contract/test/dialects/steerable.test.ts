import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  isTerminalResult, fromSteerable, fromSteerableCall, isTerminalOutcome, toSteerable, type SteerableToolResult,
} from '../../src/dialects/steerable.ts'
import { completeOutcome, errorOf, type Reading } from '../../src/dialects/reading.ts'
import { ERRORS, type ErrorCode } from '../../src/model/errors.ts'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import type { Completion, Outcome } from '../../src/model/outcome.ts'
import { anyJson, anyJsonObject } from '../../../kit/test/samples/json.ts'
import { anyCompletion, anyOutcome, anyText, base, plainRecord } from '../samples/outcomes.ts'

const error = (code: ErrorCode, completion?: Completion): Outcome =>
  ({ type: 'error', error_text: 'no', error: errorOf(code), ...(completion ? { completion } : {}), metadata: base })

const record = (data: Json | undefined) =>
  data === null || data === undefined || isJsonObject(data) ? data : { value: data }

function carried(outcome: Outcome): Reading {
  const { completion } = outcome
  if (outcome.type === 'output') {
    const hint = completion && Object.keys(completion).length > 0 ? { completion } : {}
    return { body: { type: 'output', data: record(outcome.data) ?? null, ...hint }, metadata: {} }
  }
  const cancelled = outcome.error.class === 'Cancellation' && outcome.error.code !== 'SkippedBySteering'
  return {
    body: {
      type: 'error',
      error_text: outcome.error_text,
      error: errorOf('ToolExecutionFailed', record(outcome.error.data) ?? undefined),
      completion: cancelled ? { ...completion, terminal: true } : completion ?? { needsFollowup: true },
    },
    metadata: {},
  }
}

const anyExtras = fc.dictionary(fc.string({ maxLength: 4 }).map((key) => `x${key}`), anyJson,
  { maxKeys: 2, noNullPrototype: true })
const anyResult: fc.Arbitrary<SteerableToolResult> = fc.tuple(
  fc.record(
    { success: fc.boolean(), error: anyText, data: anyJsonObject }, { requiredKeys: ['success'], ...plainRecord },
  ),
  anyCompletion, anyExtras,
).map(([known, completion, extras]) => ({ ...known, ...completion, ...extras }) as SteerableToolResult)

describe("steerable's call", () => {
  it('rejects unknown fields', () => {
    const call = { id: 'c_42', name: 'create_event', arguments: { title: 'Lunch' } }
    expect(fromSteerableCall(call)).toStrictEqual(call)
    expect(fromSteerableCall({ ...call, trace: 1 })).toBeUndefined()
  })

  it.each([
    ['no id', { name: 'a', arguments: {} }],
    ['no arguments', { id: 'c', name: 'a' }],
    ['arguments that are a list', { id: 'c', name: 'a', arguments: [] }],
    ['a name that is not a string', { id: 'c', name: 1, arguments: {} }],
  ])('is not one with %s', (_, value) => {
    expect(fromSteerableCall(value)).toBeUndefined()
  })
})

describe("steerable's result", () => {
  it('preserves its part of any outcome', () => {
    fc.assert(fc.property(anyOutcome, (outcome) => {
      expect(fromSteerable(toSteerable(outcome))).toStrictEqual(carried(outcome))
    }))
  })

  it('preserves any result, including unknown fields', () => {
    fc.assert(fc.property(anyResult, (result) => {
      const again = toSteerable(completeOutcome(fromSteerable(result)!, base))
      expect(again).toStrictEqual(result)
      expect(isTerminalResult(again)).toBe(isTerminalResult(result))
    }))
  })

  it('shows unknown fields to the model', () => {
    expect(fromSteerable({ success: true, count: 5 })?.body).toMatchObject({ type: 'output', data: { count: 5 } })
    expect(fromSteerable({ success: false, reason: 'full' })?.body)
      .toMatchObject({ error_text: 'The tool failed with {"reason":"full"}.' })
    expect(fromSteerable({ success: false })?.body).toMatchObject({
      error_text: 'The tool failed and did not say why.',
    })
    expect(fromSteerable({ success: false, message: 'Please retry.' })?.body).toMatchObject({
      error_text: 'Please retry.',
    })
  })

  it('reads null as absent', () => {
    const dumped = { success: false, terminal: null, needsFollowup: null, nextAction: null, message: null, error: 'x',
      data: null }
    expect(fromSteerable(dumped)).toStrictEqual(fromSteerable({ success: false, error: 'x' }))
  })

  it('does not replace known fields by kept ones', () => {
    const details = { steerable: { success: true, terminal: false, message: 'all is well', more: 1 } }
    expect(toSteerable({ ...error('RuleDenied'), details }))
      .toStrictEqual({ success: false, needsFollowup: true, error: 'no', more: 1 })
  })

  it.each([
    ['success that is no boolean', { success: 'yes' }],
    ['data that is no object', { success: true, data: [1] }],
    ['a flag that is no boolean', { success: true, terminal: 'yes' }],
    ['no success', { terminal: true }],
  ])('is not one with %s', (_, value) => {
    expect(fromSteerable(value)).toBeUndefined()
  })
})

describe('whether the run ends', () => {
  const ending = Object.entries(ERRORS)
    .map(([code, row]) => [code as ErrorCode, row.class === 'Cancellation' && code !== 'SkippedBySteering'] as const)
  it.each(ending)('follows from the error %s: %s', (code, ends) => {
    expect(isTerminalOutcome(error(code))).toBe(ends)
    expect(isTerminalResult(toSteerable(error(code)))).toBe(ends)
    expect(toSteerable(error(code))).toMatchObject(ends ? { terminal: true } : { needsFollowup: true })
  })

  it('is decided by the tool for its own result', () => {
    expect(isTerminalOutcome(error('ToolExecutionFailed', {}))).toBe(true)
    expect(isTerminalOutcome(error('ToolExecutionFailed', { needsFollowup: true }))).toBe(false)
    expect(isTerminalOutcome(error('ToolExecutionFailed', { needsFollowup: true, terminal: true }))).toBe(true)
    expect(isTerminalOutcome({ type: 'output', data: 1, metadata: base })).toBe(false)
    expect(isTerminalOutcome({ type: 'output', data: 1, completion: { terminal: true }, metadata: base })).toBe(true)
  })
})
