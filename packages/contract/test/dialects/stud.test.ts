import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { completeOutcome, errorOf, type Reading } from '../../src/dialects/reading.ts'
import { fromStud, toStud, type StudResult } from '../../src/dialects/stud.ts'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import type { Outcome } from '../../src/model/outcome.ts'
import { anyJson, anyJsonObject } from '../../../kit/test/samples/json.ts'
import { anyCode, anyOutcome, anyText, base, plainRecord } from '../samples/outcomes.ts'

const factsIn = (data: Json | undefined) => {
  if (data === undefined) return undefined
  const { message: _, ...facts } = isJsonObject(data) ? data : { value: data }
  return Object.keys(facts).length > 0 ? facts : undefined
}
const carried = (outcome: Outcome): Reading => ({
  body: outcome.type === 'output'
    ? { type: 'output', data: outcome.data }
    : {
      type: 'error', error_text: outcome.error_text, error: errorOf(outcome.error.code, factsIn(outcome.error.data)),
    },
  metadata: {},
})

const anyResult: fc.Arbitrary<StudResult> = fc.oneof(
  fc.record({ ok: fc.constant(true as const), value: anyJson }, plainRecord),
  fc.record({
    ok: fc.constant(false as const),
    error: fc.record({
      class: fc.constantFrom(
        'Validation', 'ProviderTransient', 'ProviderCapability', 'ToolTransient', 'ToolTerminal', 'Session',
        'Cancellation',
        'ExtensionHost',
      ),
      code: fc.oneof(anyCode, fc.constantFrom('Forbidden', 'RateLimited')),
      context: fc.tuple(anyJsonObject, fc.option(fc.oneof(anyText, anyJson), { nil: undefined }))
        .map(([facts, message]) => message === undefined ? facts : { ...facts, message }),
    }, plainRecord),
  }, plainRecord),
)

describe("stud's result", () => {
  it('has exactly the documented fields', () => {
    expect(toStud({ type: 'output', data: { a: 1 }, metadata: base })).toStrictEqual({ ok: true, value: { a: 1 } })
    expect(
      toStud({ type: 'error', error_text: 'no', error: errorOf('CapabilityDenied', { path: '/x' }), metadata: base }),
    )
      .toStrictEqual({
      ok: false, error: { class: 'ToolTerminal', code: 'CapabilityDenied', context: { path: '/x', message: 'no' } },
    })
  })

  it('preserves its part of any outcome', () => {
    fc.assert(fc.property(anyOutcome, (outcome) => {
      expect(fromStud(toStud(outcome))).toStrictEqual(carried(outcome))
    }))
  })

  it('preserves any result', () => {
    fc.assert(fc.property(anyResult, (result) => {
      expect(toStud(completeOutcome(fromStud(result)!, base))).toStrictEqual(result)
    }))
  })

  it.each([
    ['ToolTerminal', 'Forbidden', 'CapabilityDenied'],
    ['ToolTerminal', 'CommandRejected', 'WatchdogDenied'],
    ['ToolTransient', 'RateLimited', 'ResourceBusy'],
    ['ProviderTransient', 'RateLimited', 'ResourceBusy'],
    ['Cancellation', 'StageCancelled', 'ToolCancelled'],
    ['ToolTerminal', 'Unheard', 'ToolExecutionFailed'],
    ['ToolTransient', 'NotFound', 'NotFound'],
  ])('reads %s/%s as %s and keeps the original', (cls, code, ours) => {
    const result = { ok: false, error: { class: cls, code, context: { message: 'no' } } }
    const read = fromStud(result)!
    expect(read.body).toMatchObject({ error: { code: ours, data: { stud: { class: cls, code } } } })
    expect(toStud(completeOutcome(read, base))).toStrictEqual(result)
  })

  it('repeats an original class and code only if they mean the same code', () => {
    const data = { stud: { class: 'Cancellation', code: 'SessionCancelled' } }
    expect(toStud({ type: 'error', error_text: 'no', error: errorOf('ToolExecutionFailed', data), metadata: base }))
      .toStrictEqual({
      ok: false, error: { class: 'ToolTerminal', code: 'ToolExecutionFailed', context: { ...data, message: 'no' } },
    })
  })

  it('shows the class and code of an error without a message', () => {
    expect(fromStud({ ok: false, error: { class: 'ToolTerminal', code: 'Forbidden' } })?.body)
      .toMatchObject({ error_text: 'The tool failed with ToolTerminal/Forbidden and did not say more.' })
  })

  it.each([
    ['no value', { ok: true }],
    ['an unknown key', { ok: true, value: 1, rows: 2 }],
    ['an error that is a string', { ok: false, error: 'no' }],
    ['an unknown class', { ok: false, error: { class: 'Oops', code: 'X', context: {} } }],
    ['ok that is no boolean', { ok: 1, value: 1 }],
  ])('is not recognized with %s', (_, value) => {
    expect(fromStud(value)).toBeUndefined()
  })
})
