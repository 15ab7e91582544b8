import { judgeRules, type Rule, type RuleAction, type SecurityMode } from '@bulkhead/contract'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JudgeAnswer } from '../../src/index.ts'
import { ScriptedApprover } from '../twin/people.ts'
import { createWorld, verdictOf } from '../twin/world.ts'

const answer = fc.constantFrom<JudgeAnswer['action'] | 'throw' | 'none'>('allow', 'ask', 'deny', 'throw', 'none')
const rule = fc.record<Rule>({
  permission: fc.constantFrom('echo', 'ec*', 'fs.read', 'fs.write', '*', 'other'),
  pattern: fc.constantFrom('*', 'Oslo', 'O*', 'Bergen', 'docs/**'),
  action: fc.constantFrom<RuleAction>('allow', 'ask', 'deny'),
})
const situation = fc.record({
  gated: fc.boolean(),
  mode: fc.constantFrom<SecurityMode>('ask', 'allowlist', 'yolo'),
  toolMode: fc.constantFrom('read', 'local', 'external', 'destructive'),
  allowlisted: fc.boolean(),
  rules: fc.array(rule, { maxLength: 4 }),
  role: fc.constantFrom(undefined, true, false),
  ceiling: fc.constantFrom(undefined, 'above', 'below'),
  watchdog: answer,
  guard: answer,
  person: fc.constantFrom('once', 'session', 'project', 'reject', undefined),
})
type Situation = typeof situation extends fc.Arbitrary<infer T> ? T : never

const judge = (says: string) => () => {
  if (says === 'throw') throw new Error('confused')
  return says === 'none' ? undefined : { action: says, reason: 'because' } as JudgeAnswer
}

/** What anybody in the chain must have refused, said here once more and simply. */
function denials({ rules, role, ceiling, watchdog, guard, gated }: Situation): readonly string[] {
  const scoped = rules.map((one) => ({ ...one, scope: 'session', source: 'here' }) as const)
  // The tool may read all of the workspace, so a rule about docs in it speaks of the tool.
  const touches = [{ capability: 'fs.read', subject: '/ws' }, { capability: 'fs.read', subject: '/ws/docs/**' }] as const
  const expanded = scoped.map(
    (one) => one.permission.startsWith('fs.') && one.pattern !== '*' ? { ...one, pattern: `/ws/${one.pattern}` } : one,
  )
  const byRule = expanded.some(({ pattern }) => pattern === '/ws/docs/**') ? touches : touches.slice(0, 1)
  const inWorkspace = ['/ws/Oslo', '/ws/O*', '/ws/Bergen'].map((subject) => ({ capability: 'fs.read', subject }) as const)
    .filter(({ subject }) => expanded.some(({ permission, pattern }) => permission === 'fs.read' && pattern === subject))
  const ruled = judgeRules(expanded, { tool: 'echo', approvalKey: 'Oslo', touches: [...byRule, ...inWorkspace] })
  return [
    ...(ceiling === 'below' ? ['CapabilityDenied'] : []),
    ...(role === false ? ['RoleDenied'] : []),
    ...(ruled?.action === 'deny' ? ['RuleDenied'] : []),
    ...(watchdog === 'deny' || watchdog === 'throw' ? ['WatchdogDenied'] : []),
    ...(gated && (guard === 'deny' || guard === 'throw') ? ['GuardDenied'] : []),
  ]
}

async function run(setup: Situation) {
  const world = createWorld({
    workspace: '/ws',
    extensions: [{ tools: { echo: { approvalKey: '{city}', gated: setup.gated, mode: setup.toolMode as 'read' } } }],
    config: {
      allowlist: setup.allowlisted ? ['echo'] : [], ...(setup.role === undefined ? {} : { roles: { allow_echo: setup.role } }),
    },
  })
  const session = await world.host.openSession({
    mode: setup.mode,
    rules: setup.rules,
    watchdog: judge(setup.watchdog),
    guards: [judge(setup.guard)],
    ...(setup.ceiling === undefined ? {} : { ceiling: setup.ceiling === 'below' ? {} : { fs: { read: ['{workspace}'] } } }),
    ...(setup.person === undefined ? {} : { approver: new ScriptedApprover(setup.person as 'once') }),
  })
  const call = () => session.call({ id: 'c', name: 'echo', arguments: { city: 'Oslo' } })
  // Twice, so that whatever the first call left in a cache is there for the second.
  return { verdicts: [verdictOf(await call()), verdictOf(await call())], world }
}

test('no mode, cache, allowlist, rule, judge or person turns a deny into an allow', async () => {
  await fc.assert(fc.asyncProperty(situation, async (setup) => {
    const expected = denials(setup)
    const { verdicts, world } = await run(setup)
    if (expected.length > 0) {
      for (const verdict of verdicts) expect(expected).toContain(verdict)
      expect(world.sandbox.compartments.flatMap(({ calls }) => calls)).toEqual([])
    } else {
      for (const verdict of verdicts) expect(['output', 'ApprovalDenied']).toContain(verdict)
      if (setup.mode === 'yolo') expect(verdicts).toEqual(['output', 'output'])
      if (setup.person === 'reject' || setup.person === undefined) expect(verdicts[0]).toBe(verdicts[1])
    }
  }), { numRuns: 400 })
}, 120_000)

test('adding a denial to any situation denies, whatever else is there', async () => {
  const denying = fc.constantFrom<Partial<Situation>>(
    { ceiling: 'below' }, { role: false }, { watchdog: 'deny' }, { watchdog: 'throw' }, { gated: true, guard: 'deny' },
  )
  await fc.assert(fc.asyncProperty(situation, denying, async (setup, denial) => {
    const { verdicts, world } = await run({ ...setup, ...denial })
    expect(verdicts).not.toContain('output')
    expect(world.sandbox.compartments.flatMap(({ calls }) => calls)).toEqual([])
  }), { numRuns: 150 })
}, 120_000)
