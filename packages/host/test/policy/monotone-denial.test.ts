import {
  judgeRules, type Rule, type RuleAction, type SecurityMode, type StateMachine, type Touch,
} from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import type { Explanation, Hooks, CallCheck, CallCheckAnswer, Session, SessionOptions } from '../../src/index.ts'
import { ScriptedApprover } from '../twin/people.ts'
import { createWorld, verdictOf, type World } from '../twin/world.ts'

/**
 * What a guard does. move: Oslo becomes Bergen. worsen: makes the command critical. flip: switches to the other value.
 */
const answerKind = fc.constantFrom(
  'none', 'none', 'allow', 'allow', 'ask', 'move', 'move', 'worsen', 'flip', 'deny', 'throw',
)
const rule = fc.record<Rule>({
  permission: fc.constantFrom('echo', 'ec*', 'fs.read', 'fs.write', '*', 'other'),
  pattern: fc.constantFrom('*', 'Oslo', 'O*', 'Bergen', 'docs/**'),
  action: fc.constantFrom<RuleAction>('allow', 'ask', 'deny'),
})
/** Denies are rare, so that most runs also reach the other policies. */
const situation = fc.record({
  gated: fc.boolean(),
  shell: fc.boolean(),
  command: fc.constantFrom('ls', 'ls', 'git push --force', 'git push --force', 'rm -rf /'),
  mode: fc.constantFrom<SecurityMode>('ask', 'allowlist', 'yolo'),
  toolMode: fc.constantFrom('read', 'local', 'external', 'destructive'),
  allowlisted: fc.boolean(),
  rules: fc.array(rule, { maxLength: 2 }),
  role: fc.constantFrom(undefined, undefined, true, true, false),
  ceiling: fc.constantFrom(undefined, undefined, 'above', 'above', 'below'),
  watchdogs: fc.array(answerKind, { maxLength: 2 }),
  guards: fc.array(answerKind, { maxLength: 2 }),
  machine: fc.constantFrom('none', 'none', 'idle', 'lists', 'lists', 'omits', 'omits', 'throws'),
  hook: fc.constantFrom('none', 'pass', 'veto', 'throw'),
  approvedBefore: fc.boolean(),
  subagent: fc.boolean(),
  person: fc.constantFrom('once', 'session', 'project', 'reject', undefined, undefined),
})
type Situation = typeof situation extends fc.Arbitrary<infer T> ? T : never

const CRITICAL = 'rm -rf /'
const other = (city: unknown) => city === 'Oslo' ? 'Bergen' : 'Oslo'

/** The changed arguments, or undefined if the guard does not change them. */
function changed(kind: string, { city, command }: JsonObject): JsonObject | undefined {
  if (kind === 'move' && city === 'Oslo') return { city: 'Bergen', command: command! }
  if (kind === 'worsen' && command !== CRITICAL) return { city: city!, command: CRITICAL }
  return kind === 'flip' ? { city: other(city), command: command! } : undefined
}

const answering = (kind: string): CallCheck => ({ args }) => {
  if (kind === 'throw') throw new Error('confused')
  if (kind === 'none') return undefined
  const wanted = changed(kind, args)
  if (wanted) return { action: 'change', arguments: wanted, reason: 'because' }
  return ['move', 'worsen'].includes(kind) ? undefined : { action: kind, reason: 'because' } as CallCheckAnswer
}

const MACHINES: Readonly<Record<string, StateMachine>> = {
  idle: { id: 'm', stage: () => undefined },
  lists: { id: 'm', stage: () => ({ stageExecutionId: 'x', name: 'n', attempt: 1, allowedTools: ['echo'] }) },
  omits: { id: 'm', stage: () => ({ stageExecutionId: 'x', name: 'n', attempt: 1, allowedTools: ['other'] }) },
  throws: { id: 'm', stage: () => { throw new Error('confused') } },
}
const HOOKS: Readonly<Record<string, Hooks>> = {
  none: {}, pass: { beforeToolExecution: () => true }, veto: { beforeToolExecution: () => false },
  throw: { beforeToolExecution: () => { throw new Error('confused') } },
}

function ruledOut({ rules, shell }: Situation, city: string): boolean {
  const scoped = rules.map((one) => ({ ...one, author: 'embedder', source: 'here' }) as const)
  const expanded = scoped.map(
    (one) => one.permission.startsWith('fs.') && one.pattern !== '*' ? { ...one, pattern: `/ws/${one.pattern}` } : one,
  )
  // The tool may read the whole workspace. A rule about a part of it is left to the use.
  const touches: readonly Touch[] = [
    { subject: city, isKey: true }, { capability: 'fs.read', subject: '/ws', isUnknown: true },
    ...(shell ? [{ capability: 'shell.run', subject: '* …', isUnknown: true } as const] : []),
  ]
  return judgeRules(expanded, { tool: 'echo', touches, unknown: 'left' })?.action === 'deny'
}

/** The expected code, or undefined if nothing denies: a second, simple implementation of the policy chain. */
function denial(
  setup: Situation, args: JsonObject = { city: 'Oslo', command: setup.command }, round = 0,
): string | undefined {
  const { role, ceiling, watchdogs, guards, gated, shell, machine } = setup
  if (ceiling === 'below') return 'CapabilityDenied'
  if (role === false) return 'RoleDenied'
  if (ruledOut(setup, args['city'] as string)) return 'RuleDenied'
  if (shell && args['command'] === CRITICAL) return 'WatchdogDenied'
  const expected = (kind: string, code: string): string | JsonObject | undefined =>
    kind === 'deny' || kind === 'throw' ? code : changed(kind, args)
  // `gated: false` of a third-party shell does not count.
  const isGated = gated || shell
  const denied = [
    ...watchdogs.map((kind) => expected(kind, 'WatchdogDenied')),
    isGated && machine === 'throws' ? 'ApprovalDenied' : undefined,
    ...(isGated ? guards.map((kind) => expected(kind, 'GuardDenied')) : []),
  ].find((word) => word !== undefined)
  if (denied === undefined || typeof denied === 'string') return denied
  return round === 4 ? 'ArgumentsUnsettled' : denial(setup, denied, round + 1)
}

function worldOf(setup: Situation): World {
  const requires = {
    fs: { read: ['{workspace}'] }, ...(setup.shell ? { shell: [{ cmd: '*', args: [{ rest: true as const }] }] } : {}),
  }
  return createWorld({
    workspace: '/ws',
    extensions: [
      { tools: { echo: { approvalKey: '{city}', requires, gated: setup.gated, mode: setup.toolMode as 'read' } } },
    ],
    config: {
      allowlist: setup.allowlisted ? ['echo'] : [],
      ...(setup.role === undefined ? {} : { roles: { allow_echo: setup.role } }),
    },
  })
}

function optionsOf({
  mode, rules, watchdogs, guards, machine, hook, ceiling, person, shell,
}: Situation): SessionOptions {
  const all = {
    fs: { read: ['{workspace}'] }, ...(shell ? { shell: [{ cmd: '*', args: [{ rest: true as const }] }] } : {}),
  }
  return {
    mode, rules, watchdog: watchdogs.map(answering), guards: guards.map(answering), hooks: HOOKS[hook]!,
    ...(MACHINES[machine] ? { stateMachine: MACHINES[machine] } : {}),
    ...(ceiling === undefined ? {} : { ceiling: ceiling === 'below' ? {} : all }),
    ...(person === undefined ? {} : { approver: new ScriptedApprover(person as 'once') }),
  }
}

async function open(setup: Situation, world: World): Promise<Session> {
  if (setup.approvedBefore) {
    const before = await world.host.openSession({ approver: new ScriptedApprover('project') })
    for (const city of ['Oslo', 'Bergen'])
      await before.call({ id: city, name: 'echo', arguments: { city, command: 'ls' } })
  }
  // A sub-agent has its own options and those of the parent session: here all are of the parent.
  const session = await world.host.openSession(optionsOf(setup))
  return setup.subagent
    ? session.openSubagent({ mode: 'yolo', rules: [{ permission: '*', pattern: '*', action: 'allow' }] })
    : session
}

async function run(setup: Situation) {
  const world = worldOf(setup)
  const session = await open(setup, world)
  const call = { id: 'c', name: 'echo', arguments: { city: 'Oslo', command: setup.command } }
  const seen = () =>
    world.sandbox.compartments.flatMap(({ calls }) => calls).filter(({ callId }) => /^c\d/.test(callId)).length
  const rounds: { explained: Explanation; verdict: string }[] = []
  // Twice, so that the second call meets the caches of the first.
  for (let count = 0; count < 2; count++) {
    const round = { ...call, id: `c${count}` }
    rounds.push({ explained: await session.explain(round), verdict: verdictOf(await session.call(round)) })
  }
  return { rounds, ran: seen() }
}

/** The expected result of a call, given its explanation. */
function foretold({ decision, code }: Explanation, { hook, person }: Situation): string {
  if (decision === 'deny') return code!
  if (decision === 'ask' && person === 'reject') return 'ApprovalDenied'
  return hook === 'veto' || hook === 'throw' ? 'HookVetoed' : 'output'
}

test('no mode, cache, list, rule, change, hook, guard or person turns deny into allow; explain agrees', async () => {
  await fc.assert(fc.asyncProperty(situation, async (setup) => {
    const expected = denial(setup)
    const { rounds, ran } = await run(setup)
    for (const { explained, verdict } of rounds) {
      expect(verdict).toBe(foretold(explained, setup))
      if (expected !== undefined) expect(verdict).toBe(expected)
      else expect(['output', 'ApprovalDenied', 'HookVetoed']).toContain(verdict)
    }
    expect(ran).toBe(rounds.filter(({ verdict }) => verdict === 'output').length)
    if (expected !== undefined) return
    const yes = setup.hook === 'veto' || setup.hook === 'throw' ? 'HookVetoed' : 'output'
    if (setup.person !== 'reject' && setup.person !== undefined)
      expect(rounds.map(({ verdict }) => verdict)).toEqual([yes, yes])
    // Only a person can grant what a stage does not list.
    if (
      setup.machine === 'omits'
      && (setup.gated || setup.shell)
      && (setup.person === 'reject' || setup.person === undefined)
    ) {
      expect(rounds.map(({ verdict }) => verdict)).toEqual(['ApprovalDenied', 'ApprovalDenied'])
    }
    const asks = rounds[0]!.explained.chain.some(
      ({ action, stage }) => action === 'ask' && ['rules', 'watchdog', 'guard'].includes(stage),
    )
    if (setup.mode === 'yolo' && setup.machine !== 'omits' && !asks) expect(rounds[0]?.verdict).toBe(yes)
    if (asks && (setup.person === 'reject' || setup.person === undefined))
      expect(rounds[0]?.verdict).toBe('ApprovalDenied')
  }), { numRuns: thoroughly(25, 600) })
})

test('adding a deny to any configuration denies the call', async () => {
  const denying = fc.constantFrom<Partial<Situation>>(
    { ceiling: 'below' }, { role: false }, { watchdogs: ['deny'] }, { watchdogs: ['throw'] },
    { watchdogs: ['move', 'deny'] }, { gated: true, guards: ['deny'] }, { gated: true, guards: ['move', 'throw'] },
    { gated: true, machine: 'throws' }, { shell: true, command: CRITICAL }, { shell: true, watchdogs: ['worsen'] },
    { watchdogs: ['flip'] }, { hook: 'veto' }, { hook: 'throw' },
  )
  await fc.assert(fc.asyncProperty(situation, denying, async (setup, denied) => {
    const { rounds, ran } = await run({ ...setup, ...denied })
    expect(rounds.map(({ verdict }) => verdict)).not.toContain('output')
    expect(ran).toBe(0)
  }), { numRuns: thoroughly(10, 250) })
})
