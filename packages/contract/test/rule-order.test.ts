import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { RULE_ACTIONS, type RuleAction } from '../src/model/names.ts'
import type { Touch } from '../src/policy/rule-patterns.ts'
import {
  denyingRule, judgeRules, obstacleOf, type RuleAuthor, type RuleQuestion, type ScopedRule,
} from '../src/policy/rules.ts'

const command = (subject: string, ...names: string[]): Touch => ({
  capability: 'shell.run', subject, names, isKey: true,
})

describe('whatever the rules', () => {
  const NUM_RUNS = { numRuns: thoroughly(300, 5_000) }
  const pattern = fc.constantFrom(
    '*', '**', '/ws/**', '/ws/src/*', '/ws/src/a', '/ws/**/a', '/ws/*/a', '/ws/src', 'git *', 'git log', '* log',
  )
  const anyRule: fc.Arbitrary<ScopedRule> = fc.record({
    permission: fc.constantFrom('bash', 'ba*', 'b*', '*', 'shell.run', 'fs.read', 'fs.write'), pattern,
    action: fc.constantFrom(...RULE_ACTIONS),
    author: fc.constantFrom<RuleAuthor>('bundled', 'user', 'project', 'embedder', 'machine'), isFinal: fc.boolean(),
    source: fc.constant('x'),
  })
  const touch: fc.Arbitrary<Touch> = fc.oneof(
    fc.constantFrom(command('git log'), command('ls', 'git log'), { subject: 'src', isKey: true } as const),
    fc.record({
      capability: fc.constantFrom('fs.read' as const, 'fs.write' as const),
      subject: fc.constantFrom('/ws/src/a', '/ws/b/a', '/ws/c'),
    }),
    fc.record({
      capability: fc.constantFrom('fs.read' as const, 'fs.write' as const),
      subject: fc.constantFrom('/ws/**', '/ws/src/**'), isUnknown: fc.constant(true as const),
    }),
  )
  const question: fc.Arbitrary<RuleQuestion> = fc.record({
    tool: fc.constant('bash'), touches: fc.array(touch, { minLength: 1, maxLength: 3 }),
    unknown: fc.constantFrom('decided' as const, 'left' as const),
  })
  const all = fc.array(anyRule, { maxLength: 5 })
  const rank = (action: RuleAction | undefined) => action === 'deny' ? 2 : action === 'allow' ? 0 : 1

  it('their order does not matter', () => {
    fc.assert(
      fc.property(
        all.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length }))),
        question,
        ([list, shuffled], asked) => {
          expect(judgeRules(shuffled, asked)?.action).toBe(judgeRules(list, asked)?.action)
        },
      ),
      NUM_RUNS,
    )
  })

  it('one more deny never allows more', () => {
    fc.assert(fc.property(all, anyRule, question, (list, more, asked) => {
      const before = judgeRules(list, asked)?.action
      expect(rank(judgeRules([...list, { ...more, action: 'deny' }], asked)?.action)).toBeGreaterThanOrEqual(
        rank(before),
      )
    }), NUM_RUNS)
  })

  it('a deny of something known denies, unless a rule inside it does not', () => {
    fc.assert(fc.property(all, anyRule, touch, (list, more, known) => {
      const denying: ScopedRule = { ...more, action: 'deny' }
      const alone = judgeRules([denying], { tool: 'bash', touches: [known] })
      fc.pre(alone !== undefined && known.isUnknown === undefined)
      const found = judgeRules([...list, denying], { tool: 'bash', touches: [known] })
      if (found?.action === 'deny') return
      expect(denying.isFinal).toBe(false)
      // Without the rules of less strict actions nothing sets it aside.
      const others = list.filter(({ action }) => action === 'deny')
      expect(judgeRules([...others, denying], { tool: 'bash', touches: [known] })?.action).toBe('deny')
      expect(
        list.some(
          (one) =>
            one.action !== 'deny' && judgeRules([one, denying], { tool: 'bash', touches: [known] })?.action !== 'deny',
        ),
      ).toBe(true)
    }), NUM_RUNS)
  })

  it('a project never weakens what the rules of others restrict', () => {
    fc.assert(fc.property(all, all, question, (list, own, asked) => {
      const others = list.filter(({ author }) => author !== 'project' && author !== 'bundled')
      const both = [...others, ...own.map((one) => ({ ...one, author: 'project' as const }))]
      const before = judgeRules(others, asked)?.action
      if (before !== undefined) expect(rank(judgeRules(both, asked)?.action)).toBeGreaterThanOrEqual(rank(before))
      if (denyingRule(others, asked)) expect(denyingRule(both, asked)).toBeDefined()
    }), NUM_RUNS)
  })

  it('a rule that denies every call denies this one', () => {
    fc.assert(fc.property(all, question, (list, asked) => {
      if (denyingRule(list, asked) && asked.touches.some(({ isUnknown }) => !isUnknown))
        expect(judgeRules(list, asked)?.action).toBe('deny')
    }), NUM_RUNS)
  })

  it('one that never decides does not', () => {
    fc.assert(fc.property(all, question, (list, asked) => {
      const named = list.map((one, index) => ({ ...one, source: `${index}` }))
      const touches = asked.touches.filter(({ isUnknown }) => !isUnknown)
      const found = judgeRules(named, { ...asked, touches })
      const obstacles = found?.rules.map((one) => obstacleOf(one, named)?.action ?? found.action)
      expect(new Set(obstacles).size).toBeLessThan(2)
      if (obstacles) expect(obstacles[0]).toBe(found!.action)
    }), NUM_RUNS)
  })

  it('a call that touches more is not judged less strictly', () => {
    fc.assert(fc.property(all, question, touch, (list, asked, more) => {
      fc.pre(more.isKey === undefined)
      const strict = (touches: readonly Touch[]) =>
        RULE_ACTIONS.indexOf(judgeRules(list, { ...asked, touches })?.action ?? 'allow')
      expect(strict([...asked.touches, more])).toBeGreaterThanOrEqual(strict(asked.touches))
    }), NUM_RUNS)
  })
})
