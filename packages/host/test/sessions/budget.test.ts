import { BulkheadError } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { Budget, estimateTokens } from '../../src/sessions/budget.ts'

const codeOf = (answer: unknown): string => answer instanceof BulkheadError ? answer.code : 'reserved'

test('calls and tokens are taken together or not at all', () => {
  const budget = new Budget({ calls: 2, tokens: 10 })
  expect(codeOf(budget.reserve(8))).toBe('reserved')
  expect(codeOf(budget.reserve(3))).toBe('BudgetExhausted')
  expect(codeOf(budget.reserve(2))).toBe('reserved')
  expect(codeOf(budget.reserve(0))).toBe('BudgetExhausted')
})

test('what is released can be used again, once', () => {
  const budget = new Budget({ calls: 1, tokens: 5 })
  const held = budget.reserve(5)
  if (held instanceof BulkheadError) throw held
  held.release()
  held.release()
  expect(codeOf(budget.reserve(5))).toBe('reserved')
  expect(codeOf(budget.reserve(0))).toBe('BudgetExhausted')
})

test('without limits everything fits', () => {
  expect(codeOf(new Budget().reserve(Number.MAX_SAFE_INTEGER))).toBe('reserved')
})

test('a token is four characters, rounded up', () => {
  expect([0, 1, 4, 5].map(estimateTokens)).toEqual([0, 1, 1, 2])
})
