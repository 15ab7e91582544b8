import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromGrida, toGrida, type GridaEnvelope } from '../../src/dialects/grida.ts'
import { completeOutcome, errorOf, present, type Reading } from '../../src/dialects/reading.ts'
import type { Outcome } from '../../src/model/outcome.ts'
import { anyJson } from '../../../kit/test/samples/json.ts'
import { anyOutcome, anyText, base, plainRecord } from '../samples/outcomes.ts'

const carried = ({ metadata: { duration_ms, truncated, output_path }, ...outcome }: Outcome): Reading => ({
  body: outcome.type === 'output'
    ? { type: 'output', data: outcome.data }
    : { type: 'error', error_text: outcome.error_text, error: errorOf('ToolExecutionFailed') },
  metadata: { duration_ms, ...present({ truncated, output_path }) },
})

const metadata = fc.record(
  { duration_ms: fc.nat(), truncated: fc.boolean(), output_path: anyText },
  { requiredKeys: ['duration_ms'], ...plainRecord },
)
const anyEnvelope: fc.Arbitrary<GridaEnvelope> = fc.oneof(
  fc.record({ type: fc.constant('output' as const), data: anyJson, metadata }, plainRecord),
  fc.record({ type: fc.constant('error' as const), error_text: anyText, metadata }, plainRecord),
)

describe("grida's envelope", () => {
  it('has exactly the documented fields', () => {
    expect(toGrida({ type: 'output', data: { head: 'x' }, content: [], details: 1, completion: { terminal: true },
      metadata: { ...base, duration_ms: 12.6, truncated: true, output_path: '/s/1' } })).toStrictEqual({
      type: 'output', data: { head: 'x' }, metadata: { duration_ms: 13, truncated: true, output_path: '/s/1' },
    })
    expect(toGrida({ type: 'error', error_text: 'no', error: errorOf('RuleDenied'), metadata: base })).toStrictEqual({
      type: 'error', error_text: 'no', metadata: { duration_ms: 0 },
    })
  })

  it('preserves its part of any outcome', () => {
    fc.assert(fc.property(anyOutcome, (outcome) => {
      expect(fromGrida(toGrida(outcome))).toStrictEqual(carried(outcome))
    }))
  })

  it('preserves any envelope', () => {
    fc.assert(fc.property(anyEnvelope, (envelope) => {
      expect(toGrida(completeOutcome(fromGrida(envelope)!, base))).toStrictEqual(envelope)
    }))
  })

  it('reads an envelope without measurements', () => {
    expect(fromGrida({ type: 'error', error_text: 'no' })?.metadata).toEqual({})
  })

  it.each([
    ['another type', { type: 'warning', data: 1, metadata: { duration_ms: 1 } }],
    ['no data', { type: 'output', metadata: { duration_ms: 1 } }],
    ['an unknown key', { type: 'output', data: 1, rows: 2, metadata: { duration_ms: 1 } }],
    ['an error with data', { type: 'error', data: 1 }],
    ['a fractional duration', { type: 'output', data: 1, metadata: { duration_ms: 1.5 } }],
    ['metadata of another kind', { type: 'output', data: 1, metadata: { author: 'x' } }],
    ['a string', 'output'],
  ])('does not recognize %s', (_, value) => {
    expect(fromGrida(value)).toBeUndefined()
  })
})
