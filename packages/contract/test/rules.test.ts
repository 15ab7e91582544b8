import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  denyingRule, judgeRules, RULE_CAPABILITIES, RULE_SCOPES, type RuleAuthor, type RuleQuestion, type ScopedRule,
} from '../src/policy/rules.ts'
import { RULE_ACTIONS, type RuleAction } from '../src/model/names.ts'
import { ruleSchema } from '../src/validation/policy.ts'

type Short = readonly [permission: string, pattern: string, action: ScopedRule['action'], scope?: ScopedRule['scope']]
const rule = ([permission, pattern, action, scope = 'project']: Short, index = 0): ScopedRule =>
  ({ permission, pattern, action, scope, source: `rule ${index}` })
const rules = (...short: Short[]) => short.map(rule)
const bash: RuleQuestion = {
  tool: 'bash', approvalKey: 'git log', touches: [{ capability: 'shell.run', subject: 'git log' }],
}
const write: RuleQuestion = {
  tool: 'write', approvalKey: 'src',
  touches: [{ capability: 'fs.read', subject: '/ws/src/a.ts' }, { capability: 'fs.write', subject: '/ws/src/a.ts' }],
}

describe('the rank of rules', () => {
  it.each<[string, RuleQuestion, Short, Short]>([
    ['an exact permission over a glob', bash, ['bash', '*', 'allow'], ['ba*', '*', 'deny']],
    ['a glob over a capability', bash, ['ba*', '*', 'allow'], ['shell.run', '*', 'deny']],
    ['a capability over everything', bash, ['shell.run', '*', 'allow'], ['*', '*', 'deny']],
    ['the permission before the pattern', bash, ['bash', '*', 'allow'], ['ba*', 'git log', 'deny']],
    ['an exact pattern over a longer prefix', bash, ['bash', 'git log', 'allow'], ['bash', 'git log*', 'deny']],
    ['a longer prefix over a shorter', bash, ['bash', 'git l*', 'allow'], ['bash', 'git *', 'deny']],
    ['a prefix over everything', bash, ['bash', 'g*', 'allow'], ['bash', '*', 'deny']],
    ['the pattern before the scope', bash, ['bash', 'git *', 'allow', 'project'], ['bash', '*', 'deny', 'session']],
    ['the session over the project', bash, ['bash', '*', 'allow', 'session'], ['bash', '*', 'deny', 'project']],
    ['the project over the manifest', bash, ['bash', '*', 'allow', 'project'], ['bash', '*', 'ask', 'manifest']],
    ['the scope before the action', bash, ['bash', '*', 'allow', 'session'], ['bash', '*', 'ask', 'project']],
    ['deny over ask', bash, ['bash', '*', 'deny'], ['bash', '*', 'ask']],
    ['ask over allow', bash, ['bash', '*', 'ask'], ['bash', '*', 'allow']],
    ['a deeper folder over a higher', write, ['write', '**', 'allow'], ['*', '**', 'deny']],
  ])('%s, in either order', (_, question, winner, loser) => {
    for (const order of [rules(winner, loser), rules(loser, winner)]) {
      expect(judgeRules(order, question))
        .toMatchObject({ action: winner[2], rule: { permission: winner[0], pattern: winner[1] } })
    }
  })

  it('prefers the later of two otherwise equal rules', () => {
    expect(judgeRules(rules(['bash', '*', 'ask'], ['bash', '**', 'ask']), bash)?.rule.source).toBe('rule 1')
  })
})

describe('a rule of a project', () => {
  const by = (author: RuleAuthor, ...short: Short[]) => rules(...short).map((one) => ({ ...one, author }))
  it.each<[RuleAuthor, Short, Short, RuleAction]>([
    ['user', ['bash', '*', 'deny'], ['bash', 'git log', 'allow'], 'deny'], ['user', ['shell.run', 'git *', 'deny'], ['bash', '*', 'allow'], 'deny'],
    ['user', ['*', '*', 'ask'], ['bash', 'git log', 'allow'], 'ask'], ['user', ['*', '*', 'deny'], ['bash', 'git log', 'ask'], 'deny'],
    ['embedder', ['*', '*', 'ask'], ['bash', 'git log', 'allow'], 'ask'], ['machine', ['*', '*', 'deny'], ['bash', '*', 'allow'], 'deny'],
    ['user', ['*', '*', 'allow'], ['bash', '*', 'deny'], 'deny'], ['user', ['bash', 'git log', 'allow'], ['bash', '*', 'deny'], 'allow'],
    ['bundled', ['bash', '*', 'ask'], ['bash', 'git log', 'allow'], 'allow'], ['project', ['bash', '*', 'deny'], ['bash', 'git log', 'allow'], 'allow'],
  ])('beside one of the %s: %j and %j is %s', (author, other, own, expected) => {
    for (const order of [[...by(author, other), ...by('project', own)], [...by('project', own), ...by(author, other)]]) {
      expect(judgeRules(order, bash)?.action).toBe(expected)
    }
  })

  it('never weakens what the rules of others restrict', () => {
    const one = fc.record({
      permission: fc.constantFrom('bash', 'ba*', '*', 'shell.run', 'write', 'fs.read', 'fs.write'),
      pattern: fc.constantFrom('*', '**', 'git *', 'git log', 'src', '/ws/**', '/ws/src/*'), action: fc.constantFrom(...RULE_ACTIONS),
      scope: fc.constantFrom(...RULE_SCOPES), author: fc.constantFrom<RuleAuthor>('user', 'embedder', 'machine'), source: fc.constant('x'),
    })
    const rank = (action: RuleAction = 'allow') => RULE_ACTIONS.indexOf(action)
    fc.assert(fc.property(fc.array(one), fc.array(one), fc.constantFrom(bash, write), (others, own, question) => {
      const alone = judgeRules(others, question)?.action
      const ofProject = own.map((each) => ({ ...each, scope: 'project' as const, author: 'project' as const }))
      const all = [...others, ...ofProject]
      expect(rank(judgeRules(all, question)?.action)).toBeGreaterThanOrEqual(rank(alone))
      if (denyingRule(others, question)) expect(denyingRule(all, question)).toBeDefined()
    }), { numRuns: 2_000 })
  })
})

describe('a rule that denies every call of a tool', () => {
  it.each<[boolean, ...Short[]]>([
    [true, ['bash', '*', 'deny']], [true, ['ba*', '**', 'deny']], [true, ['*', '*', 'deny']], [false, ['bash', 'git *', 'deny']],
    [false, ['shell.run', '*', 'deny']], [false, ['read', '*', 'deny']], [true, ['bash', '*', 'deny'], ['*', 'git', 'allow']],
    [false, ['bash', '*', 'deny'], ['bash', 'git', 'ask']], [false, ['*', '*', 'deny'], ['shell.run', '*', 'allow']],
    [false, ['bash', '*', 'deny'], ['bash', '*', 'allow', 'session']], [true, ['bash', '*', 'deny', 'manifest'], ['bash', '*', 'allow', 'session']],
    [true, ['*', '*', 'deny'], ['read', '*', 'allow']],
  ])('is %s of %j %j', (expected, ...short) => {
    expect(denyingRule(rules(...short), bash) !== undefined).toBe(expected)
  })

  it('is one that decides, whatever is asked', () => {
    const permission = fc.constantFrom('bash', 'ba*', '*', 'shell.run')
    const pattern = fc.constantFrom('*', '**', 'git *', 'git log', 'g*')
    const any = fc.record({ permission, pattern, action: fc.constantFrom(...RULE_ACTIONS), scope: fc.constantFrom(...RULE_SCOPES), source: fc.constant('') })
    const key = fc.constantFrom('git log', 'git', 'ls', 'a/b', '')
    fc.assert(fc.property(fc.array(any, { maxLength: 4 }), key, key, fc.boolean(), (all, approvalKey, subject, named) => {
      if (denyingRule(all, bash) === undefined) return
      expect(judgeRules(all, { tool: 'bash', approvalKey, ...(named && { names: [subject] }), touches: [{ capability: 'shell.run', subject }] })?.action).toBe('deny')
    }))
  })
})

describe('a verdict', () => {
  it('is undefined if no rule matches', () => {
    expect(judgeRules([], bash)).toBeUndefined()
    expect(judgeRules(rules(['read', '*', 'deny'], ['bash', 'npm *', 'deny'], ['fs.write', '*', 'deny']), bash))
      .toBeUndefined()
    expect(judgeRules(rules(['re*', '*', 'deny']), bash)).toBeUndefined()
  })

  it('is the strictest over everything the call touches', () => {
    expect(judgeRules(rules(['fs.read', '**', 'allow'], ['fs.write', '/ws/src/**', 'ask']), write)?.action).toBe('ask')
    expect(judgeRules(rules(['fs.read', '**', 'deny'], ['fs.write', '**', 'allow']), write)?.action).toBe('deny')
    expect(judgeRules(rules(['fs.read', '**', 'allow'], ['fs.write', '**', 'allow']), write)?.action).toBe('allow')
  })

  it('is not allow if rules match only a part of the call', () => {
    expect(judgeRules(rules(['fs.read', '**', 'allow']), write)).toBeUndefined()
    expect(judgeRules(rules(['fs.read', '**', 'ask']), write)?.action).toBe('ask')
    expect(judgeRules(rules(['write', '*', 'allow']), write)?.action).toBe('allow')
  })

  it('of a capability rule needs a call that touches the capability', () => {
    expect(judgeRules(rules(['fs.write', '*', 'deny']), { ...write, touches: [] })).toBeUndefined()
  })

  it('of a tool rule depends on the key, of a capability rule on what is touched', () => {
    expect(judgeRules(rules(['write', '/ws/src/**', 'deny'], ['fs.write', 'src', 'deny']), write)).toBeUndefined()
    const deploy: RuleQuestion = { ...bash, tool: 'deploy', approvalKey: 'deploy' }
    expect(judgeRules(rules(['shell.run', 'git *', 'deny']), deploy)?.action).toBe('deny')
    expect(judgeRules(rules(['shell.run', 'deploy', 'deny'], ['deploy', 'git *', 'deny']), deploy)).toBeUndefined()
  })

  it.each<[key: string, pattern: string, action: string | undefined]>([
    ['src/lib', 'src', 'deny'], ['src/lib', 'src/*', 'deny'], ['src', 'src/**', 'deny'], ['src', 'src/lib', undefined],
    ['srclib', 'src', undefined],
  ])('of the key %s matches %s as a path', (approvalKey, pattern, action) => {
    expect(judgeRules(rules(['write', pattern, 'deny']), { ...write, approvalKey })?.action).toBe(action)
  })

  it('of a rule on everything depends on the key and on what is touched', () => {
    expect(judgeRules(rules(['*', '/ws/src/**', 'deny']), write)?.action).toBe('deny')
    expect(judgeRules(rules(['*', 'src', 'deny']), write)?.action).toBe('deny')
    expect(judgeRules(rules(['*', 'lib', 'deny']), write)).toBeUndefined()
  })

  it('matches * inside one folder, and ** across folders', () => {
    expect(judgeRules(rules(['fs.write', '/ws/*.ts', 'deny']), write)).toBeUndefined()
    expect(judgeRules(rules(['fs.write', '/ws/**/*.ts', 'deny']), write)?.action).toBe('deny')
    expect(judgeRules(rules(['fs.write', '/ws', 'deny']), write)?.action).toBe('deny')
  })

  it('does not treat a tool name as a pattern', () => {
    expect(judgeRules(rules(['b.sh', '*', 'deny']), bash)).toBeUndefined()
  })
})

describe('a tool of a server', () => {
  const tool: RuleQuestion = {
    tool: 'ship_go', source: 'mcp:ship:go', approvalKey: 'ship_go',
    touches: [{ capability: 'shell.run', subject: '*' }],
  }

  it.each(['ship_go', 'mcp:ship:go', 'mcp:ship:*', 'mcp:*'])('matches %s', (permission) => {
    expect(judgeRules(rules([permission, '*', 'allow']), tool)).toMatchObject({ action: 'allow' })
  })

  it.each(['mcp:shi:*', 'mcp:ship_go', 'mcp:ship:g', 'MCP:ship:go'])('does not match %s', (permission) => {
    expect(judgeRules(rules([permission, '*', 'deny']), tool)).toBeUndefined()
  })

  it('matches its source with the same rank as its name', () => {
    expect(judgeRules(rules(['mcp:ship:go', '*', 'deny'], ['ship_*', '*', 'allow']), tool))
      .toMatchObject({ action: 'deny' })
    expect(judgeRules(rules(['mcp:ship:*', '*', 'allow'], ['ship_go', '*', 'deny']), tool))
      .toMatchObject({ action: 'deny' })
  })
})

describe('a key with other names', () => {
  const listing: RuleQuestion = {
    tool: 'bash', approvalKey: 'ls', names: ['ls -la src', 'timeout 5 ls -la src'],
    touches: [{ capability: 'shell.run', subject: '* …' }],
  }
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
    expect(judgeRules(rules(...short), listing)?.action).toBe(action)
  })

  it('does not match rules on files', () => {
    const copying: RuleQuestion = {
      ...listing, touches: [...listing.touches, { capability: 'fs.write', subject: '/ws/a' }],
    }
    expect(judgeRules(rules(['fs.write', '/ws/**', 'deny']), copying)?.action).toBe('deny')
    expect(judgeRules(rules(['fs.write', 'ls*', 'deny']), copying)).toBeUndefined()
  })

  it('is not a path', () => {
    const program: RuleQuestion = { tool: 'bash', approvalKey: 'ls/evil', names: [], touches: [] }
    expect(judgeRules(rules(['bash', 'ls', 'allow']), program)).toBeUndefined()
    expect(judgeRules(rules(['bash', 'ls*', 'deny']), program)?.action).toBe('deny')
  })
})

describe('a denial', () => {
  const anyRule: fc.Arbitrary<ScopedRule> = fc.record({
    permission: fc.constantFrom('bash', 'ba*', 'shell.run', 'fs.read', '*'),
    pattern: fc.constantFrom('*', 'git *', 'git log', '**', '/ws/**'),
    action: fc.constantFrom(...RULE_ACTIONS), scope: fc.constantFrom(...RULE_SCOPES), source: fc.constant('x'),
  })
  const anyTouches = fc.array(fc.record({ capability: fc.constantFrom('shell.run' as const, 'fs.read' as const),
    subject: fc.constantFrom('git log', '/ws/a') }), { maxLength: 2 })

  it('of the manifest is final', () => {
    fc.assert(fc.property(fc.array(anyRule), anyTouches, fc.nat(), (others, touches, at) => {
      const pinned = rule(['*', '*', 'deny', 'manifest'])
      expect(judgeRules(others.toSpliced(at % (others.length + 1), 0, pinned), { ...bash, touches })?.action)
        .toBe('deny')
    }))
  })

  it('stays if the call touches more', () => {
    fc.assert(fc.property(fc.array(anyRule), anyTouches, anyTouches, (all, touches, more) => {
      fc.pre(touches.length > 0)
      const strictness = (question: RuleQuestion) => RULE_ACTIONS.indexOf(judgeRules(all, question)?.action ?? 'allow')
      expect(strictness({ ...bash, touches: [...touches, ...more] })).toBeGreaterThanOrEqual(
        strictness({ ...bash, touches }),
      )
    }))
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
    expect(RULE_SCOPES).toEqual(['manifest', 'project', 'session'])
    expect(RULE_CAPABILITIES).toEqual(['fs.read', 'fs.write', 'shell.run', 'net.fetch'])
  })
})
