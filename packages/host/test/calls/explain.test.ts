import { RULE_ACTIONS, SECURITY_MODES, type Ceiling, type ConfigFile } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import type { CallCheckAnswer, SessionOptions } from '../../src/index.ts'
import { ScriptedApprover } from '../twin/people.ts'
import { createWorld, verdictOf, type ToolSketch, type WorldSketch } from '../twin/world.ts'

const CALL = { id: 'c1', name: 'echo', arguments: { city: 'Oslo' } }

interface Setting {
  readonly tool: ToolSketch
  readonly config: ConfigFile
  readonly options: Omit<SessionOptions, 'approver' | 'interactor'>
  readonly approved: 'no' | 'session' | 'project'
}

const anyAction = fc.constantFrom(...RULE_ACTIONS)
const rule = fc.record({
  permission: fc.constantFrom('echo', 'ech*', '*', 'fs.read', 'fs.write', 'other'),
  pattern: fc.constantFrom('*', 'Oslo', 'Bergen', '**', 'echo'),
  action: anyAction,
})
const answer = fc.option(
  fc.oneof(
    fc.constant<CallCheckAnswer>({ action: 'allow' }),
    fc
      .constantFrom('ask', 'deny')
      .map((action): CallCheckAnswer => ({ action: action as 'ask' | 'deny', reason: 'because' })),
    fc.constant('throws' as const),
  ),
  { nil: undefined },
)
const watchdog = answer.map((given) => () => {
  if (given === 'throws') throw new Error('cannot decide')
  return given
})

const ceiling = fc.constantFrom<Ceiling | undefined>(
  undefined, undefined, undefined, {}, { fs: { read: ['{workspace}/**'], write: ['{workspace}/**'] } },
  { fs: { read: ['docs/**'] } }, { fs: { write: ['out/**'] } },
)

const setting: fc.Arbitrary<Setting> = fc.record({
  tool: fc.record({
    gated: fc.boolean(),
    mode: fc.constantFrom('read', 'safe_write', 'destructive', 'local', 'external'),
    requires: fc.constantFrom({ fs: { read: ['{workspace}'] } }, { fs: { write: ['{workspace}/out'] } }, {}),
    approvalKey: fc.constantFrom('{city}', 'city {city}'),
  }) as fc.Arbitrary<ToolSketch>,
  config: fc.record({
    rules: fc.array(rule, { maxLength: 4 }),
    roles: fc.constantFrom({}, { allow_echo: false }, { allow_echo: true }),
    mode: fc.constantFrom(...SECURITY_MODES),
    allowlist: fc.constantFrom([], ['echo'], ['echo:Oslo'], ['echo:Bergen']),
    policy: ceiling.map((most) => (most === undefined ? {} : { ceiling: most })),
    tools: fc.constantFrom({}, {}, {}, { echo: { enabled: false } }),
    toolsEnabled: fc.constantFrom(true, true, true, false),
  }),
  options: fc
    .record({
      rules: fc.array(rule, { maxLength: 2 }), watchdog, guards: fc.array(watchdog, { maxLength: 2 }),
      budget: fc.record(
        { calls: fc.constantFrom(0, 1, 1_000), tokens: fc.constantFrom(1, 1_000_000) }, { requiredKeys: [] },
      ),
      ceiling: fc.option(
        ceiling.map((most) => most ?? { fs: { read: ['**'], write: ['**'] } }), { nil: undefined },
      ),
    })
    .map(({ ceiling: most, ...rest }) => (most === undefined ? rest : { ...rest, ceiling: most })),
  approved: fc.constantFrom('no', 'session', 'project'),
})

async function inWorld({ tool, config, options, approved }: Setting, extra: Partial<SessionOptions> = {}) {
  const sketch: WorldSketch = { extensions: [{ tools: { echo: tool } }], config }
  const world = createWorld(sketch)
  const approver = new ScriptedApprover(approved === 'no' ? 'once' : approved)
  const session = await world.host.openSession({ ...options, ...extra, approver })
  // An earlier approval applies, if the call asks at all.
  if (approved !== 'no') await session.call({ ...CALL, id: 'before' })
  const askedBefore = approver.asked.length
  return { world, session, asked: () => approver.asked.length - askedBefore }
}

describe('explain', () => {
  test('agrees with call', async () => {
    await fc.assert(fc.asyncProperty(setting, async (given) => {
      const { world, session, asked } = await inWorld(given)
      const explained = await session.explain(CALL)
      expect(asked()).toBe(0)
      const outcome = await session.call(CALL)
      expect({ asked: asked(), code: verdictOf(outcome) }).toEqual(
        {
          allow: { asked: 0, code: 'output' }, ask: { asked: 1, code: 'output' },
          deny: { asked: 0, code: explained.code },
        }[explained.decision],
      )
      const steps = explained.chain.filter(({ action }) => action === explained.decision)
      expect(steps).not.toEqual([])
      const decided = world.eventsOf('ToolInvocationDecided').findLast(({ callId }) => callId === CALL.id)
      if (decided && explained.decision !== 'ask')
        expect(steps).toContainEqual(expect.objectContaining({ stage: decided.stage, source: decided.source }))
      expect(explained.remedies.length > 0).toBe(explained.decision !== 'allow')
    }), { numRuns: thoroughly(15, 400) })
  })

  test('no mode, cached approval, hook, watchdog or guard turns a deny into an allow', async () => {
    const loosened = fc.record({
      mode: fc.constantFrom(...SECURITY_MODES),
      approved: fc.constantFrom('no' as const, 'session' as const, 'project' as const),
    })
    await fc.assert(fc.asyncProperty(setting, loosened, async (given, { mode, approved }) => {
      const before = await (await inWorld(given)).session.explain(CALL)
      fc.pre(before.decision === 'deny' && before.code !== 'BudgetExhausted')
      const { session } = await inWorld(
        { ...given, approved, config: { ...given.config, mode, allowlist: ['echo'] } },
        {
          mode, hooks: { beforeToolExecution: () => true },
          guards: [...(given.options.guards ?? []), () => ({ action: 'allow' })],
        },
      )
      expect((await session.explain(CALL)).decision).toBe('deny')
      expect(verdictOf(await session.call(CALL))).toBe(before.code)
    }), { numRuns: thoroughly(15, 400) })
  })

  test.each<[string, unknown, WorldSketch, object]>([
    [
      'a name that nothing has', { ...CALL, name: 'ecko' }, {},
      { decision: 'deny', code: 'ToolNotRegistered', origin: null },
    ],
    [
      'arguments that do not fit', { ...CALL, arguments: [] }, {},
      { decision: 'deny', code: 'InputInvalid', approvalKey: null },
    ],
    ['no call at all', null, {}, { decision: 'deny', code: 'InputInvalid' }],
    [
      'a rule, and where it stands', CALL,
      { config: { rules: [{ permission: 'echo', pattern: '*', action: 'deny' }] } },
      {
        decision: 'deny', code: 'RuleDenied',
        remedies: [
          expect.stringContaining('/layers/global/config.json#/rules/0'),
          expect.stringMatching(/: bulkhead policy add echo echo allow$/),
        ],
      },
    ],
    [
      'what no user is there to approve', CALL, { extensions: [{ tools: { echo: { gated: true } } }] },
      {
        decision: 'deny', code: 'ApprovalDenied',
        remedies: expect.arrayContaining([expect.stringContaining('interactor or an approver')]),
      },
    ],
  ])('says what stops the call: %s', async (_, call, sketch, expected) => {
    const session = await createWorld(sketch).host.openSession()
    expect(await session.explain(call as typeof CALL)).toMatchObject(expected)
  })

  test.each<[SessionOptions, string]>([
    [{ mode: 'yolo' }, 'pass before-hooks'],
    [{ approver: new ScriptedApprover('once') }, 'pass before-hooks'],
    [{ mode: 'yolo', rules: [{ permission: 'echo', pattern: '*', action: 'deny' }] }, ''],
  ])('hooks that may veto are named, and not called: %#', async (options, named) => {
    let asked = 0
    const hook = { beforeToolExecution: () => { asked += 1; return false } }
    const session = await createWorld({ extensions: [{ tools: { echo: { gated: true } } }] }).host.openSession({
      ...options, hooks: [hook, {}],
    })
    const { chain } = await session.explain(CALL)
    expect(
      chain
        .filter(({ stage }) => stage === 'before-hooks')
        .map(({ action, stage }) => `${action} ${stage}`)
        .join(),
    ).toBe(named)
    if (named !== '') expect(chain.at(-1)!.reason).toBe('one hook runs before the tool, and may veto the call')
    expect(asked).toBe(0)
    session.addHooks(hook)
    if (named !== '') expect((await session.explain(CALL)).chain.at(-1)!.reason).toMatch(/^2 hooks run /)
  })

  test('runs nothing, emits nothing and reserves nothing', async () => {
    let runs = 0
    const world = createWorld({
      extensions: [{ tools: { echo: { approvalKey: '{city}', execute: (): JsonObject => ({ runs: ++runs }) } } }],
    })
    const session = await world.host.openSession({ mode: 'yolo' })
    const before = world.events.length
    expect(await session.explain(CALL)).toMatchObject({ decision: 'allow', remedies: [] })
    expect(runs).toBe(0)
    expect(world.events).toHaveLength(before)
    expect((await world.host.close()).faults).toEqual([])
  })
})

test('an ask has the question that the person gets', async () => {
  const approver = new ScriptedApprover('once')
  const tool: ToolSketch = {
    gated: true, mode: 'safe_write', approvalKey: '{city}', requires: { fs: { write: ['{workspace}/out'] } },
  }
  const session = await createWorld({ extensions: [{ tools: { echo: tool } }] }).host.openSession({ approver })
  const { question } = await session.explain(CALL)
  expect(approver.asked).toEqual([])
  await session.call(CALL)
  expect(approver.asked).toEqual([question])
  expect(question).toMatchObject({ tool: 'echo', approvalKey: 'Oslo', mayTouch: [expect.stringContaining('out')] })
  const { question: none } = await (
    await createWorld({ extensions: [{ tools: { echo: tool } }] }).host.openSession()
  ).explain(CALL)
  expect(none).toBeUndefined()
})
