import { describe, expect, it } from 'vitest'
import { RULE_ACTIONS, RULE_CAPABILITIES, type RuleAction } from '../src/model/names.ts'
import type { Touch } from '../src/policy/rule-patterns.ts'
import { denyingRule, judgeRules, obstacleOf, type RuleQuestion } from '../src/policy/rules.ts'
import { ruleSchema } from '../src/validation/policy.ts'
import { actionOf, rule, rules, type Short } from './rule-samples.ts'

const command = (subject: string, ...names: string[]): Touch => ({
  capability: 'shell.run', subject, names, isKey: true,
})
const reads = (subject: string): Touch => ({ capability: 'fs.read', subject, isKey: true })
const bash: RuleQuestion = { tool: 'bash', touches: [command('git log')] }
const read: RuleQuestion = { tool: 'read', touches: [reads('/ws/secrets/k')] }
const write: RuleQuestion = {
  tool: 'write', touches: [reads('/ws/src/a.ts'), { capability: 'fs.write', subject: '/ws/src/a.ts', isKey: true }],
}

describe('of two rules that match', () => {
  it.each<[RuleAction, string, RuleQuestion, Short, Short]>([
    ['deny', 'the stricter one decides', bash, ['bash', '*', 'allow'], ['shell.run', '*', 'deny']],
    ['ask', 'the stricter one decides', bash, ['bash', '*', 'allow'], ['bash', '*', 'ask']],
    ['allow', 'a tool is inside a glob', bash, ['bash', '*', 'allow'], ['ba*', '*', 'deny']],
    ['allow', 'a glob is inside a wider one', bash, ['bas*', '*', 'allow'], ['b*', '*', 'deny']],
    ['deny', 'a glob is not inside another', bash, ['*sh', '*', 'allow'], ['ba*', '*', 'deny']],
    ['allow', 'a capability is inside *', bash, ['shell.run', '*', 'allow'], ['*', '*', 'deny']],
    ['allow', 'a smaller pattern is inside', bash, ['bash', 'git log', 'allow'], ['bash', 'git *', 'deny']],
    ['deny', 'a pattern that only overlaps is not', bash, ['bash', '* log', 'allow'], ['bash', 'git *', 'deny']],
    [
      'deny', 'a smaller permission with a wider pattern is not', bash, ['bash', '*', 'allow'],
      ['ba*', 'git *', 'deny'],
    ],
    [
      'deny', 'the same pattern in other words is not', read, ['read', '/ws/secrets/**', 'allow'],
      ['read', '/ws/secrets', 'deny'],
    ],
    [
      'deny', 'tool and capability count as equal', read, ['read', '/ws/secrets/k', 'allow'],
      ['fs.read', '/ws/secrets/k', 'deny'],
    ],
    [
      'allow', 'so the pattern decides', read, ['read', '/ws/secrets/k', 'allow'],
      ['fs.read', '/ws/secrets/**', 'deny'],
    ],
    ['allow', 'in both directions', read, ['fs.read', '/ws/secrets/k', 'allow'], ['read', '/ws/secrets/**', 'deny']],
    [
      'deny', 'a wide allow for the tool is not inside', read, ['read', '**', 'allow'],
      ['fs.read', '/ws/secrets/**', 'deny'],
    ],
    [
      'ask', 'a wide ask for the tool is not inside', read, ['fs.read', '**', 'ask'],
      ['read', '/ws/secrets/**', 'allow', 'project'],
    ],
    ['ask', 'an ask can be inside a deny', bash, ['bash', 'git log', 'ask'], ['bash', '*', 'deny']],
  ])('%s decides: %s', (action, _, question, one, other) => {
    expect(actionOf(question, one, other)).toBe(action)
  })

  it('a rule that is set aside stays so, whatever beats the one that set it aside', () => {
    expect(actionOf(bash, ['*', '*', 'deny'], ['bash', '*', 'ask'], ['bash', 'git log', 'allow'])).toBe('allow')
  })

  it('each thing is judged by itself', () => {
    const two: RuleQuestion = { tool: 'patch', touches: [reads('/ws/secrets/k'), reads('/ws/secrets/x')] }
    expect(actionOf(two, ['fs.read', '/ws/secrets/**', 'deny'], ['fs.read', '/ws/secrets/k', 'allow'])).toBe('deny')
  })
})

describe('authors', () => {
  const AUTHORS = ['machine', 'embedder', 'user', 'project', 'bundled'] as const
  it.each(AUTHORS.flatMap((own) => AUTHORS.map((other) => [own, other] as const)))('%s beside %s', (own, other) => {
    const mayLoosen = own === other || other === 'bundled' || (other === 'project' && own !== 'bundled')
    expect(actionOf(bash, ['bash', 'git log', 'allow', own], ['bash', '*', 'ask', other])).toBe(
      mayLoosen ? 'allow' : 'ask',
    )
  })

  it.each<[RuleAction, Short, Short]>([
    ['deny', ['bash', '*', 'deny', 'machine'], ['bash', 'git log', 'allow', 'machine']],
    ['deny', ['bash', '*', 'deny', 'embedder'], ['bash', 'git log', 'allow', 'embedder']],
    ['deny', ['bash', '*', 'deny', 'agent'], ['bash', 'git log', 'allow', 'user']],
    ['allow', ['bash', '*', 'ask', 'agent'], ['bash', 'git log', 'allow', 'user']],
    ['allow', ['bash', '*', 'ask', 'machine'], ['bash', 'git log', 'allow', 'machine']],
    ['deny', ['bash', '*', 'allow', 'machine'], ['bash', 'git log', 'deny', 'project']],
  ])('%s for %j and %j: only a deny is final', (action, one, other) => {
    expect(actionOf(bash, one, other)).toBe(action)
  })
})

describe('an allow', () => {
  const unknown: Touch = { capability: 'fs.read', subject: '/ws', isUnknown: true }
  const tool: RuleQuestion = { tool: 'deploy', touches: [{ subject: 'eu/one', isKey: true }, unknown] }
  it.each<[RuleAction | undefined, string, RuleQuestion, ...Short[]]>([
    ['allow', 'for the tool covers the whole call', tool, ['deploy', 'eu', 'allow']],
    ['allow', 'for everything does too', tool, ['*', '*', 'allow']],
    [undefined, 'for another key does not', tool, ['deploy', 'us', 'allow']],
    ['allow', 'for every capability covers it too', tool, ['fs.read', '**', 'allow']],
    [undefined, 'for a part of an unknown part does not', tool, ['fs.read', '/ws/src', 'allow']],
    [
      undefined, 'for a capability covers no key', { tool: 'deploy', touches: [{ subject: 'eu', isKey: true }] },
      ['fs.read', '**', 'allow'],
    ],
    [undefined, 'for a part of one capability', write, ['fs.read', '**', 'allow']],
    ['allow', 'for each capability', write, ['fs.read', '**', 'allow'], ['fs.write', '/ws/src', 'allow']],
    [
      'allow', 'for each command', { tool: 'bash', touches: [command('git log'), command('ls')] },
      ['bash', 'git *', 'allow'], ['bash', 'ls', 'allow'],
    ],
    [
      undefined, 'for one command of two', { tool: 'bash', touches: [command('git log'), command('ls')] },
      ['bash', 'git *', 'allow'],
    ],
  ])('decides %s: %s', (action, _, question, ...short) => {
    expect(actionOf(question, ...short)).toBe(action)
  })
})

describe('a rule that denies every call of a tool', () => {
  it.each<[boolean, ...Short[]]>([
    [true, ['bash', '*', 'deny']], [true, ['ba*', '**', 'deny']], [true, ['*', '*', 'deny']],
    [false, ['bash', 'git *', 'deny']], [false, ['shell.run', '*', 'deny']], [false, ['read', '*', 'deny']],
    [true, ['bash', '*', 'deny'], ['*', 'git', 'allow']], [false, ['bash', '*', 'deny'], ['bash', 'git', 'ask']],
    [false, ['*', '*', 'deny'], ['shell.run', '*', 'allow']], [true, ['bash', '*', 'deny'], ['bash', '*', 'allow']],
    [true, ['bash', '*', 'deny', 'agent'], ['bash', 'git', 'allow']],
    [true, ['*', '*', 'deny'], ['read', '*', 'allow']],
    [true, ['bash', '*', 'deny'], ['bash', 'git', 'allow', 'project']],
  ])('is %s of %j %j', (expected, ...short) => {
    expect(denyingRule(rules(...short), bash) !== undefined).toBe(expected)
  })
})

describe('a rule that never decides', () => {
  it.each<[boolean, string, Short, ...Short[]]>([
    [true, 'an allow that another author denies', ['bash', 'git log', 'allow', 'project'], ['bash', '*', 'deny']],
    [true, 'an allow as wide as a deny', ['bash', '*', 'allow'], ['bash', '**', 'deny']],
    [true, 'an ask under a final deny', ['read', 'a', 'ask'], ['*', '*', 'deny', 'machine']],
    [
      true, 'an ask about a file in a folder of a final deny', ['fs.read', 'src/a.ts', 'ask', 'machine'],
      ['fs.read', 'src/**', 'deny', 'machine'],
    ],
    [
      true, 'an allow of a host that another author denies', ['net.fetch', 'a.example.com', 'allow'],
      ['net.fetch', '*.example.com', 'deny', 'machine'],
    ],
    [
      false, 'an allow of a file in a folder that its author denies', ['fs.read', 'src/a.ts', 'allow'],
      ['fs.read', 'src/**', 'deny'],
    ],
    [true, 'the same rule again', ['bash', '*', 'deny'], ['bash', '*', 'deny']],
    [false, 'an allow inside a deny', ['bash', 'git log', 'allow'], ['bash', '*', 'deny']],
    [false, 'an allow beside a deny of some of it', ['bash', '*', 'allow'], ['bash', 'git *', 'deny']],
    [
      false, 'one whose obstacle is set aside', ['bash', 'git log', 'allow', 'project'],
      ['bash', '*', 'deny', 'bundled'], ['bash', 'git *', 'ask'],
    ],
    [false, 'a deny', ['bash', 'git log', 'deny', 'project'], ['bash', '*', 'allow', 'machine']],
  ])('%s: %s', (expected, _, own, ...others) => {
    const [rest, mine] = [rules(...others), rule(own, 9)]
    expect(obstacleOf(mine, [...rest, mine]) !== undefined).toBe(expected)
  })
})

describe('a verdict', () => {
  it('is undefined if no rule matches', () => {
    expect(actionOf(bash)).toBeUndefined()
    expect(actionOf(bash, ['read', '*', 'deny'], ['bash', 'npm *', 'deny'], ['fs.write', '*', 'deny'])).toBeUndefined()
    expect(actionOf(bash, ['re*', '*', 'deny'], ['b.sh', '*', 'deny'])).toBeUndefined()
  })

  it('names every rule that leads to it', () => {
    const two = judgeRules(rules(['bash', '*', 'ask'], ['bash', 'git *', 'ask'], ['bash', '*', 'allow']), bash)
    expect(two).toMatchObject({
      action: 'ask', rule: { pattern: 'git *' }, rules: [{ pattern: '*' }, { pattern: 'git *' }],
    })
  })

  it('of a rule for a tool depends on every path', () => {
    expect(actionOf(write, ['write', '/ws/src/*.ts', 'deny'])).toBe('deny')
    expect(actionOf(write, ['write', '/ws/*.ts', 'deny'])).toBeUndefined()
    expect(actionOf(write, ['*', '/ws/**/*.ts', 'deny'])).toBe('deny')
    expect(judgeRules([{ ...rule(['write', 'src', 'deny']), paths: ['/ws/src', '/other/src'] }], write)?.action).toBe(
      'deny',
    )
    expect(judgeRules([{ ...rule(['write', '../src', 'deny']), paths: [] }], write)).toBeUndefined()
  })

  it.each<[key: string, pattern: string, action: string | undefined]>([
    ['src/lib', 'src', 'deny'], ['src/lib', 'src/*', 'deny'], ['src', 'src/**', 'deny'], ['src', 'src/lib', undefined],
    ['srclib', 'src', undefined],
  ])('of the key %s matches %s as a path', (subject, pattern, action) => {
    expect(actionOf({ tool: 'deploy', touches: [{ subject, isKey: true }] }, ['deploy', pattern, 'deny'])).toBe(action)
  })

  it.each<[string, string, string | undefined]>([
    ['api.example.com', '*.example.com', 'deny'], ['api.example.com:443', 'api.example.com', 'deny'],
    ['api.example.com', 'api.*', 'deny'], ['10.0.0.1', '*', 'deny'], ['example.com', '*.example.com', undefined],
    ['api.example.com:8080', 'api.example.com', undefined],
  ])('of the host %s with %s follows the rule', (subject, pattern, action) => {
    expect(
      actionOf({ tool: 'fetch', touches: [{ capability: 'net.fetch', subject }] }, ['net.fetch', pattern, 'deny']),
    ).toBe(action)
  })

  it('of a narrower host beats that of a wider one', () => {
    const fetch: RuleQuestion = {
      tool: 'fetch', touches: [{ capability: 'net.fetch', subject: 'api.example.com', isKey: true }],
    }
    expect(actionOf(fetch, ['net.fetch', '*', 'deny'], ['net.fetch', '*.example.com', 'allow'])).toBe('allow')
    expect(actionOf(fetch, ['net.fetch', 'api.*', 'deny'], ['net.fetch', 'api.example.com', 'allow'])).toBe('deny')
  })
})

describe('a tool of a server', () => {
  const tool: RuleQuestion = { tool: 'ship_go', source: 'mcp:ship:go', touches: [{ subject: 'ship_go', isKey: true }] }

  it.each(['ship_go', 'mcp:ship:go', 'mcp:ship:*', 'mcp:*'])('matches %s', (permission) => {
    expect(actionOf(tool, [permission, '*', 'allow'])).toBe('allow')
  })

  it.each(['mcp:shi:*', 'mcp:ship_go', 'mcp:ship:g', 'MCP:ship:go'])('does not match %s', (permission) => {
    expect(actionOf(tool, [permission, '*', 'deny'])).toBeUndefined()
  })

  it('is inside every glob that matches it, by either name', () => {
    expect(actionOf(tool, ['mcp:ship:go', '*', 'allow'], ['ship_*', '*', 'deny'])).toBe('allow')
    expect(actionOf(tool, ['mcp:ship:*', '*', 'allow'], ['ship_go', '*', 'deny'])).toBe('deny')
    expect(actionOf(tool, ['mcp:ship:go', '*', 'allow'], ['ship_go', '*', 'deny'])).toBe('deny')
    expect(actionOf(tool, ['mcp:ship:*', '*', 'allow'], ['ship_*', '*', 'deny'])).toBe('deny')
  })
})

describe('a command with other names', () => {
  const listing: RuleQuestion = { tool: 'bash', touches: [command('ls', 'ls -la src', 'timeout 5 ls -la src')] }
  it.each<[string, Short[], string | undefined]>([
    ['is denied by any of them', [['bash', 'timeout *', 'deny']], 'deny'],
    ['asks by any of them', [['bash', 'ls -la*', 'ask']], 'ask'],
    ['is allowed by the key', [['bash', 'ls', 'allow']], 'allow'],
    ['is not allowed by another name', [['bash', 'ls -la*', 'allow']], undefined],
    ['is allowed against a wide deny', [['bash', '*', 'deny'], ['bash', 'ls', 'allow']], 'allow'],
    ['is denied by a longer name despite an allow', [['bash', 'ls', 'allow'], ['bash', 'ls -la*', 'deny']], 'deny'],
    ['matches rules on commands', [['shell.run', 'timeout 5 *', 'deny']], 'deny'],
    ['does not match other rules on commands', [['shell.run', 'rm *', 'deny']], undefined],
  ])('%s', (_, short, action) => {
    expect(actionOf(listing, ...short)).toBe(action)
  })

  it('is not a path', () => {
    const program: RuleQuestion = { tool: 'bash', touches: [{ subject: 'ls/evil', names: [], isKey: true }] }
    expect(actionOf(program, ['bash', 'ls', 'allow'])).toBeUndefined()
    expect(actionOf(program, ['bash', 'ls*', 'deny'])).toBe('deny')
  })
})

describe('the schema of a rule', () => {
  it('has the default pattern *', () => {
    expect(ruleSchema.parse({ permission: 'bash', action: 'deny' })).toEqual({
      permission: 'bash', pattern: '*', action: 'deny',
    })
  })

  it('has these actions', () => {
    expect(RULE_ACTIONS).toEqual(['allow', 'ask', 'deny'])
    expect(RULE_CAPABILITIES).toEqual(['fs.read', 'fs.write', 'shell.run', 'net.fetch'])
  })
})
