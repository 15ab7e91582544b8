import { describe, expect, it } from 'vitest'
import type { RuleAction, RuleCapability } from '../src/model/names.ts'
import type { Touch } from '../src/policy/rule-patterns.ts'
import { judgeUse, possibleRules, setAside, type RuleQuestion } from '../src/policy/rules.ts'
import { actionOf, rules, type Short } from './rule-samples.ts'

describe('an unknown part', () => {
  const unknown: Touch = { capability: 'fs.read', subject: '/ws/**', isUnknown: true }
  const tool: RuleQuestion = { tool: 'deploy', touches: [{ subject: 'eu', isKey: true }, unknown] }
  const denied: Short = ['fs.read', '/ws/secrets/**', 'deny']
  const asked: Short = ['fs.read', '/ws/secrets/**', 'ask']
  it.each<[RuleAction | undefined, RuleQuestion['unknown'], Short]>([
    ['deny', 'decided', denied], ['ask', 'decided', asked],
    ['allow', 'left', denied], ['allow', 'left', asked], ['allow', 'decided', ['fs.write', '**', 'deny']],
    ['allow', 'decided', ['fs.read', '/else/**', 'deny']],
  ])('is %s if it is %s and the rule is %j', (action, parts, short) => {
    expect(actionOf({ ...tool, unknown: parts! }, ['deploy', '*', 'allow'], short)).toBe(action)
  })

  it('may be judged later by rules that match nothing known', () => {
    const all = rules(
      denied, ['deploy', '*', 'ask'], ['deploy', '/ws/x', 'ask'], ['fs.read', '/else', 'deny'],
      ['fs.read', '**', 'allow'],
    )
    expect(possibleRules(all, tool).map(({ source }) => source)).toEqual(['rule 0', 'rule 2'])
  })

  it('is judged by no rule about all calls that is beaten where the call is approved', () => {
    const all = rules(
      ['deploy', '*', 'deny'], ['*', '*', 'ask'], ['deploy', '/ws/secrets', 'deny'], ['deploy', 'eu', 'allow'],
    )
    const judged = (key: Touch, capability: RuleCapability, subject: string, ...more: Touch[]) => {
      const question: RuleQuestion = { tool: 'deploy', touches: [key, unknown, ...more] }
      return judgeUse(all, { tool: 'deploy', capability, subject }, setAside(all, question))?.action
    }
    const eu: Touch = { subject: 'eu', isKey: true }
    expect(judged(eu, 'fs.read', '/ws/a')).toBeUndefined()
    expect(judged(eu, 'net.fetch', 'api.example')).toBeUndefined()
    expect(judged(eu, 'fs.read', '/ws/secrets/k')).toBe('deny')
    expect(judged({ subject: 'us', isKey: true }, 'fs.read', '/ws/a')).toBe('deny')
    // The key is known to be a file, or a command of the grant.
    expect(judged(eu, 'fs.read', '/ws/a', { capability: 'fs.read', subject: '/ws/eu' })).toBe('deny')
    const suspect = { capability: 'shell.run', subject: 'eu …', isUnknown: true } as const
    expect(judged(eu, 'shell.run', 'rm x', suspect)).toBe('deny')
    expect(
      judged(eu, 'fs.read', '/ws/a', { capability: 'shell.run', subject: 'eu …', isUnknown: true }),
    ).toBeUndefined()
    expect(possibleRules(all, { tool: 'deploy', touches: [eu, unknown] }).map(({ source }) => source)).toEqual([
      'rule 2',
    ])
  })

  it('of the kind that the call is approved by is judged one by one', () => {
    const all = rules(['deploy', '*', 'deny'], ['deploy', 'eu/a', 'allow'], ['deploy', '/ws/eu/a', 'allow'])
    const question: RuleQuestion = { tool: 'deploy', touches: [{ subject: 'eu/a', isKey: true }, unknown] }
    const use = (subject: string) =>
      judgeUse(all, { tool: 'deploy', capability: 'fs.read', subject }, setAside(all, question))?.action
    expect([use('/ws/eu/a'), use('/ws/eu/b')]).toEqual(['allow', 'deny'])
    expect(possibleRules(all, question).map(({ source }) => source)).toEqual(['rule 0'])
  })

  it('is judged like everything else when it is used', () => {
    const all = rules(denied, ['deploy', '/ws/secrets/k', 'allow'], ['read', '**', 'deny'])
    const use = (subject: string) => judgeUse(all, { tool: 'deploy', capability: 'fs.read', subject })?.action
    expect([use('/ws/secrets/x'), use('/ws/secrets/k'), use('/ws/a')]).toEqual(['deny', 'allow', undefined])
  })

  it('under several patterns is what matches all of them', () => {
    const narrow: RuleQuestion = {
      tool: 'deploy', unknown: 'decided', touches: [{ ...unknown, within: ['/ws/src/**'] }],
    }
    expect(actionOf(narrow, denied)).toBeUndefined()
    expect(actionOf(narrow, ['fs.read', '/ws/src', 'allow'])).toBe('allow')
  })
})
