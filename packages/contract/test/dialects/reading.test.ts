import { describe, expect, it } from 'vitest'
import { completeOutcome, endsRun, errorOf, present } from '../../src/dialects/reading.ts'
import { ERRORS, type ErrorCode } from '../../src/model/errors.ts'
import { base } from '../samples/outcomes.ts'

describe('what a codec reads', () => {
  it('goes over what the reader knows', () => {
    expect(completeOutcome({ body: { type: 'output', data: 1 }, metadata: { tool: 'x' } }, base))
      .toStrictEqual({ type: 'output', data: 1, metadata: { ...base, tool: 'x' } })
  })

  it('has absent fields where there is no value, and keeps null', () => {
    expect(present({ a: undefined, b: null, c: 0, ['__proto__']: 1 })).toStrictEqual({ b: null, c: 0, ['__proto__']: 1 })
  })

  it('takes class and retryable from the table', () => {
    for (const [code, row] of Object.entries(ERRORS)) {
      expect(errorOf(code as ErrorCode)).toStrictEqual({ code, class: row.class, retryable: row.retryable })
    }
  })

  it('ends the run for these codes alone', () => {
    expect(Object.keys(ERRORS).filter((code) => endsRun(code as ErrorCode)))
      .toStrictEqual(['SessionCancelled', 'TurnCancelled', 'ToolCancelled'])
  })
})
