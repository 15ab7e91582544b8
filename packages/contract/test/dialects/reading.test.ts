import { describe, expect, it } from 'vitest'
import { completeOutcome, endsRun, errorOf, present } from '../../src/dialects/reading.ts'
import { ERRORS, type ErrorCode } from '../../src/model/errors.ts'
import { base } from '../samples/outcomes.ts'

describe('a reading', () => {
  it('overrides the base metadata', () => {
    expect(completeOutcome({ body: { type: 'output', data: 1 }, metadata: { tool: 'x' } }, base))
      .toStrictEqual({ type: 'output', data: 1, metadata: { ...base, tool: 'x' } })
  })

  it('omits undefined fields and keeps null', () => {
    expect(present({ a: undefined, b: null, c: 0, ['__proto__']: 1 }))
      .toStrictEqual({ b: null, c: 0, ['__proto__']: 1 })
  })

  it('takes class and retryable from the table', () => {
    for (const [code, row] of Object.entries(ERRORS)) {
      expect(errorOf(code as ErrorCode)).toStrictEqual({ code, class: row.class, retryable: row.retryable })
    }
  })

  it('ends the run only for these codes', () => {
    expect(Object.keys(ERRORS).filter((code) => endsRun(code as ErrorCode)))
      .toStrictEqual(['SessionCancelled', 'TurnCancelled', 'ToolCancelled'])
  })
})
