import { BulkheadError } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { Budget, estimateTokens, jointBudget } from '../../src/model/budget.ts'

const codeOf = (answer: unknown): string => answer instanceof BulkheadError ? answer.code : 'reserved'

test('calls and tokens are reserved together or not at all', () => {
  const budget = new Budget({ calls: 2, tokens: 10 })
  expect(codeOf(budget.reserve(8))).toBe('reserved')
  expect(codeOf(budget.reserve(3))).toBe('BudgetExhausted')
  expect(codeOf(budget.reserve(2))).toBe('reserved')
  expect(codeOf(budget.reserve(0))).toBe('BudgetExhausted')
})

test('a released reservation can be used again, once', () => {
  const budget = new Budget({ calls: 1, tokens: 5 })
  const held = budget.reserve(5)
  if (held instanceof BulkheadError) throw held
  held.release()
  held.release()
  expect(codeOf(budget.reserve(5))).toBe('reserved')
  expect(codeOf(budget.reserve(0))).toBe('BudgetExhausted')
})

test('a joint budget reserves from all budgets or none, and releases to all', () => {
  const [wide, narrow] = [new Budget({ calls: 2, tokens: 10 }), new Budget({ calls: 1, tokens: 5 })]
  const joint = jointBudget([wide, narrow])
  expect(codeOf(joint.reserve(6))).toBe('BudgetExhausted')
  const held = joint.reserve(5)
  if (held instanceof BulkheadError) throw held
  expect(codeOf(joint.reserve(0))).toBe('BudgetExhausted')
  held.release()
  expect([codeOf(wide.reserve(5)), codeOf(wide.reserve(5)), codeOf(wide.reserve(0)), codeOf(narrow.reserve(5))])
    .toEqual(['reserved', 'reserved', 'BudgetExhausted', 'reserved'])
})

test('usage beyond the reservation counts for each budget', () => {
  const both = [new Budget({ tokens: 10 }), new Budget({ tokens: 10 })]
  const held = jointBudget(both).reserve(2)
  if (held instanceof BulkheadError) throw held
  held.settle(8)
  expect(both.flatMap((budget) => [codeOf(budget.reserve(3)), codeOf(budget.reserve(2))])).toEqual([
    'BudgetExhausted', 'reserved', 'BudgetExhausted', 'reserved',
  ])
})

test('without limits everything fits', () => {
  expect(codeOf(new Budget().reserve(Number.MAX_SAFE_INTEGER))).toBe('reserved')
})

test('a token is four characters, rounded up', () => {
  expect([0, 1, 4, 5].map(estimateTokens)).toEqual([0, 1, 1, 2])
})
