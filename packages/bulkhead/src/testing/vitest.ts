import type { ErrorCode, Outcome } from '@bulkhead/contract'
import { expect, type MatcherState } from 'vitest'

declare module 'vitest' {
  // The type parameters must equal those of vitest.
  interface Matchers<R extends void | Promise<void> = void | Promise<void>, T = unknown> {
    /** The outcome has this data. It is compared as by `toEqual`. */
    toSucceedWith(data: unknown): R
    /** The outcome is an error with this code. */
    toFailWith(code: ErrorCode): R
  }
}

expect.extend({
  toSucceedWith(received: unknown, data: unknown) {
    const outcome = outcomeOf(received, this)
    const isOutput = outcome.type === 'output'
    return {
      pass: isOutput && this.equals(outcome.data, data, this.customTesters),
      message: () => isOutput
        ? `The call succeeded with ${this.isNot ? 'this' : 'other'} data: ${this.utils.printReceived(outcome.data)}`
        : `The call failed. ${outcome.error.code}: ${outcome.error_text}`,
      ...(isOutput && { actual: outcome.data, expected: data }),
    }
  },
  toFailWith(received: unknown, code: ErrorCode) {
    const outcome = outcomeOf(received, this)
    const isOutput = outcome.type === 'output'
    return {
      pass: !isOutput && outcome.error.code === code,
      message: () => isOutput
        ? `The call succeeded instead of failing with ${code}: ${this.utils.printReceived(outcome.data)}`
        : `The call failed with ${outcome.error.code}${this.isNot ? '' : ` instead of ${code}`}: ${outcome.error_text}`,
      ...(!isOutput && { actual: outcome.error.code, expected: code }),
    }
  },
})

function outcomeOf(received: unknown, { utils }: Pick<MatcherState, 'utils'>): Outcome {
  const { type, then } = (received ?? {}) as { readonly type?: unknown; readonly then?: unknown }
  if (type === 'output' || type === 'error') return received as Outcome
  throw new TypeError(typeof then === 'function'
    ? 'The matcher got a promise instead of an outcome. Await the call first.'
    : `The matcher got ${utils.printReceived(received)} instead of an outcome.`)
}
