import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromGrida, toGrida, type GridaEnvelope } from '../../src/dialects/grida.ts'
import { completeOutcome, errorOf, present, type Reading } from '../../src/dialects/reading.ts'
import type { Outcome } from '../../src/model/outcome.ts'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { anyJson } from '../../../kit/test/samples/json.ts'
import { anyOutcome, anyText, base, plainRecord } from '../samples/outcomes.ts'

/** What a reader of a cut result relies on: a head, and whether it is the only part. */
const isCut = (outcome: Outcome) => outcome.type === 'output' && outcome.metadata.truncated === true
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
    fc.assert(fc.property(anyOutcome.filter((outcome) => !isCut(outcome)), (outcome) => {
      expect(fromGrida(toGrida(outcome))).toStrictEqual(carried(outcome))
    }))
  })

  it.each<[string, Json, Json]>([
    ['a string', 'first', { head: 'first' }],
    ['an object with a head', { head: 'first', total: 3 }, { head: 'first', total: 3 }],
    ['an object', { path: 'a', content: 'first', total: 3 }, { head: 'first', path: 'a', total: 3 }],
    ['an object with a long list', { total: 3, paths: ['a.ts', 'b.ts'] }, { head: '["a.ts","b.ts"]', total: 3 }],
    ['an object with a head that is no string', { head: 1, x: 'y' }, { head: '{"head":1,"x":"y"}' }],
    ['an empty object', {}, { head: '{}' }],
    ['a list', [1, 2], { head: '[1,2]' }],
  ])('has a head for data that was cut: %s', (_, data, cut) => {
    const outcome: Outcome = { type: 'output', data, metadata: { ...base, truncated: true, output_path: '/s/1' } }
    expect(toGrida(outcome)).toStrictEqual({
      type: 'output', data: cut, metadata: { duration_ms: 0, truncated: true, output_path: '/s/1' },
    })
  })

  it('always has a head for data that was cut, keeps the other parts, and is stable', () => {
    fc.assert(fc.property(anyOutcome.filter(isCut), (outcome) => {
      const cut = toGrida(outcome)
      const { head, ...others } = (cut as { data: JsonObject }).data
      expect(head).toBeTypeOf('string')
      expect((outcome as { data: Json }).data).toMatchObject(Object.keys(others).length > 0 ? others : {})
      expect(toGrida(completeOutcome(fromGrida(cut)!, base))).toStrictEqual(cut)
    }))
  })

  it('preserves any envelope', () => {
    const hasHead = (envelope: GridaEnvelope) => envelope.type === 'error' || envelope.metadata.truncated !== true
    fc.assert(fc.property(anyEnvelope.filter(hasHead), (envelope) => {
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
