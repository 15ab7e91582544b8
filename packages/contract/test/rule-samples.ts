import { expect } from 'vitest'
import type { RuleAction } from '../src/model/names.ts'
import { judgeRules, type RuleAuthor, type RuleQuestion, type ScopedRule } from '../src/policy/rules.ts'

export type Short = readonly [permission: string, pattern: string, action: RuleAction, author?: RuleAuthor | 'agent']
export const rule = ([permission, pattern, action, author = 'user']: Short, index = 0): ScopedRule => ({
  permission, pattern, action, source: `rule ${index}`, author: author === 'agent' ? 'user' : author,
  isFinal: ['machine', 'embedder', 'agent'].includes(author),
})
export const rules = (...short: Short[]) => short.map(rule)
export const actionOf = (question: RuleQuestion, ...short: Short[]) => {
  const found = [rules(...short), rules(...short).toReversed()].map((order) => judgeRules(order, question)?.action)
  expect(found[0]).toBe(found[1])
  return found[0]
}
