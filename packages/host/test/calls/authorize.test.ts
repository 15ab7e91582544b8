import type { ConfigFile, LayerConfig, Rule, RuleAction } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import type { CallCheck, SessionOptions } from '../../src/index.ts'
import { flush } from '../twin/clock.ts'
import { ScriptedApprover, ScriptedInteractor } from '../twin/people.ts'
import { createWorld, verdictOf, type ToolSketch, type WorldSketch } from '../twin/world.ts'

const CITY: ToolSketch = {
  approvalKey: '{city}', inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
}
const UNGATED: ToolSketch = { gated: false }
const LOCAL: ToolSketch = { gated: false, mode: 'local' }

interface Case {
  readonly tool?: ToolSketch
  readonly config?: ConfigFile
  readonly session?: SessionOptions
  readonly world?: WorldSketch
}

/** The result of one call, and how often a person was asked. */
async function decide(
  { tool = CITY, config = {}, session = {}, world: sketch = {} }: Case, decision?: 'once' | 'reject',
) {
  const approver = new ScriptedApprover(decision ?? 'once')
  const world = createWorld({ extensions: [{ tools: { echo: tool } }], config, ...sketch })
  const opened = await world.host.openSession({ ...session, ...(decision ? { approver } : {}) })
  const outcome = await opened.call({ id: 'c1', name: 'echo', arguments: { city: 'Oslo' } })
  return { outcome, verdict: verdictOf(outcome), asked: approver.asked, world }
}

const rule = (action: RuleAction, permission = 'echo', pattern = '*'): Rule => ({ permission, pattern, action })
const answers = (answer: Awaited<ReturnType<CallCheck>>): CallCheck => () => answer

test.each<[string, Case, string, number]>([
  ['gated, mode ask', {}, 'output', 1],
  ['not gated', { tool: UNGATED }, 'output', 0],
  ['not gated but local', { tool: LOCAL }, 'output', 1],
  ['yolo never asks', { session: { mode: 'yolo' } }, 'output', 0],
  ['yolo never asks for a local tool', { tool: LOCAL, session: { mode: 'yolo' } }, 'output', 0],
  ['allowlisted by name', { config: { mode: 'allowlist', allowlist: ['echo'] } }, 'output', 0],
  ['allowlisted by key', { config: { mode: 'allowlist', allowlist: ['echo:Os*'] } }, 'output', 0],
  ['allowlist miss by key', { config: { mode: 'allowlist', allowlist: ['echo:Be*', 'other'] } }, 'output', 1],
  ['an allowlist without its mode', { config: { allowlist: ['echo'] } }, 'output', 1],
  ["the session's mode over the configuration's", { config: { mode: 'yolo' }, session: { mode: 'ask' } }, 'output', 1],
  ['an allow rule answers the mode', { session: { rules: [rule('allow')] } }, 'output', 0],
  ['an allow rule for this key', { session: { rules: [rule('allow', 'echo', 'Oslo')] } }, 'output', 0],
  ['an allow rule for another key', { session: { rules: [rule('allow', 'echo', 'Bergen')] } }, 'output', 1],
  ['an allow rule answers what a local tool asks', { tool: LOCAL, session: { rules: [rule('allow')] } }, 'output', 0],
  ['an ask rule applies to an ungated tool', { tool: UNGATED, session: { rules: [rule('ask')] } }, 'output', 1],
  ['a deny rule', { session: { rules: [rule('deny')] } }, 'RuleDenied', 0],
  ['a deny rule under yolo', { session: { mode: 'yolo', rules: [rule('deny')] } }, 'RuleDenied', 0],
  ['a deny rule applies to an ungated tool', { tool: UNGATED, session: { rules: [rule('deny')] } }, 'RuleDenied', 0],
  ['a more exact allow outranks a wide deny', { session: { rules: [rule('deny', '*'), rule('allow')] } }, 'output', 0],
  [
    'a role flag', { config: { roles: { allow_echo_guest: false } }, session: { role: 'guest', mode: 'yolo' } },
    'RoleDenied',
    0,
  ],
  [
    'the flag of another role',
    { config: { roles: { allow_echo_guest: false } }, session: { role: 'owner', mode: 'yolo' } },
    'output',
    0,
  ],
  ['a ceiling below the tool', { session: { ceiling: {}, mode: 'yolo' } }, 'CapabilityDenied', 0],
  [
    'a ceiling above the tool',
    { session: { ceiling: { fs: { read: ['{workspace}'], write: ['{workspace}'] } }, mode: 'yolo' } },
    'output',
    0,
  ],
  [
    'a watchdog that denies',
    { session: { mode: 'yolo', watchdog: answers({ action: 'deny', reason: 'smells' }) } },
    'WatchdogDenied',
    0,
  ],
  [
    'a watchdog that asks', { tool: UNGATED, session: { watchdog: answers({ action: 'ask', reason: 'hm' }) } },
    'output',
    1,
  ],
  ['a watchdog that allows lowers nothing', { session: { watchdog: answers({ action: 'allow' }) } }, 'output', 1],
  [
    'a watchdog that throws',
    {
      session: {
        mode: 'yolo',
        watchdog: () => {
          throw new Error('bug')
        },
      },
    },
    'WatchdogDenied',
    0,
  ],
  [
    'a watchdog that answers something unknown',
    { session: { mode: 'yolo', watchdog: answers({ action: 'maybe' } as never) } },
    'WatchdogDenied',
    0,
  ],
  [
    'a guard that denies',
    { session: { mode: 'yolo', guards: [answers(undefined), answers({ action: 'deny', reason: 'no' })] } },
    'GuardDenied',
    0,
  ],
  [
    'a guard that throws', { session: { mode: 'yolo', guards: [() => Promise.reject(new Error('bug'))] } },
    'GuardDenied',
    0,
  ],
  [
    'guards are for gated calls', { tool: UNGATED, session: { guards: [answers({ action: 'deny', reason: 'no' })] } },
    'output',
    0,
  ],
])('the verdict and the number of questions are as expected: %s', async (_, setup, verdict, questions) => {
  const result = await decide(setup, 'once')
  expect(result.verdict).toBe(verdict)
  expect(result.asked).toHaveLength(questions)
  expect(result.world.eventsOf('ToolInvocationStarted')).toHaveLength(verdict === 'output' ? 1 : 0)
  expect(result.world.eventsOf('ToolInvocationDecided')).toMatchObject([
    { decision: verdict === 'output' ? 'allow' : 'deny' },
  ])
})

test('a rejection by a person is final, and the model gets its reason', async () => {
  const world = createWorld({ extensions: [{ tools: { echo: CITY } }] })
  const approver = new ScriptedApprover()
  const session = await world.host.openSession({ approver })
  const outcome = session.call({ id: 'c1', name: 'echo', arguments: { city: 'Oslo' } })
  await flush()
  approver.answer('reject', 'not before lunch')
  expect(await outcome).toMatchObject({
    error: { code: 'ApprovalDenied' }, error_text: expect.stringContaining('not before lunch'),
  })
  expect(world.eventsOf('ToolInvocationCancelled')).toMatchObject([{ errorCode: 'ApprovalDenied' }])
})

test('a headless session denies calls that would ask', async () => {
  expect((await decide({})).verdict).toBe('ApprovalDenied')
  expect((await decide({ tool: LOCAL })).verdict).toBe('ApprovalDenied')
  expect((await decide({ tool: UNGATED })).verdict).toBe('output')
  expect((await decide({ session: { mode: 'yolo' } })).verdict).toBe('output')
})

test('a manifest deny is final, also against a more specific rule of the session', async () => {
  const layers: readonly LayerConfig[] = [
    { layer: 'embedder', location: 'createHost', config: { rules: [rule('deny', '*', '*')] } },
  ]
  expect(
    (await decide({ world: { layers }, session: { rules: [rule('allow', 'echo', 'Oslo')], mode: 'yolo' } }, 'once'))
      .verdict,
  ).toBe('RuleDenied')
})

test.each<[string, ToolSketch['requires'], Rule, boolean]>([
  ['the very thing', { net: { hosts: ['api.example.com'] } }, rule('deny', 'net.fetch', 'api.example.com'), true],
  ['something else', { net: { hosts: ['api.example.com'] } }, rule('deny', 'net.fetch', 'other.example.com'), false],
  [
    'something within what the tool may touch',
    { fs: { write: ['{workspace}'] } },
    rule('deny', 'fs.write', 'secrets/**'),
    true,
  ],
  ['something its patterns may meet', { fs: { write: ['src/**'] } }, rule('deny', 'fs.write', '**/secrets/*'), true],
  ['a folder it cannot reach', { fs: { write: ['src/**'] } }, rule('deny', 'fs.write', 'secrets/**'), false],
  ['an absolute path', { fs: { write: ['{user-data}/x'] } }, rule('deny', 'fs.write', '/data/**'), true],
  ['reading, of a tool that writes', { fs: { write: ['{workspace}'] } }, rule('deny', 'fs.read', '*'), false],
  ['a command', { shell: [{ cmd: 'git', args: [{ wildcard: true }] }] }, rule('deny', 'shell.run', 'git push*'), true],
  [
    'a command with any further arguments', { shell: [{ cmd: 'git', args: [{ rest: true }] }] },
    rule('deny', 'shell.run', 'git push*'), true,
  ],
  ['another command', { shell: [{ cmd: 'git', args: ['status'] }] }, rule('deny', 'shell.run', 'git push*'), false],
])('a capability rule against %s is left to the use that it denies', async (_, requires, deny, isMet) => {
  const { world, verdict } = await decide({ tool: { requires: requires! }, session: { mode: 'yolo', rules: [deny] } })
  expect(verdict).toBe('output')
  const session = await world.host.openSession({ mode: 'yolo', rules: [deny] })
  const { later } = await session.explain({ id: 'e', name: 'echo', arguments: { city: 'Oslo' } })
  expect(later).toEqual(isMet ? [{ action: 'deny', rule: expect.stringContaining(deny.pattern) as string }] : undefined)
})

test('an allow rule for one capability does not allow a tool that has another', async () => {
  const tool: ToolSketch = {
    mode: 'external', requires: { net: { hosts: ['api.example.com'] }, fs: { write: ['{workspace}'] } },
  }
  const net = rule('allow', 'net.fetch', 'api.example.com')
  const questions = async (...rules: readonly Rule[]) =>
    (await decide({ tool, session: { rules } }, 'once')).asked.length
  expect(await questions(net)).toBe(1)
  expect(await questions(rule('allow', '*', 'api.example.com'))).toBe(1)
  expect(await questions(net, rule('allow', 'fs.write', '**'))).toBe(0)
})

test('one question shows every reason to ask, as visible text', async () => {
  const world = createWorld({
    extensions: [
      {
        tools: { echo: { ...LOCAL, gated: true, label: 'E\u202echo', requires: { net: { hosts: ['example.com'] } } } },
      },
    ],
  })
  const approver = new ScriptedApprover('once')
  const session = await world.host.openSession({
    approver, rules: [rule('ask')], watchdog: answers({ action: 'ask', reason: 'unusual\u001b[31m' }),
  })
  await session.call({ id: 'c1', name: 'echo', arguments: { text: 'a\u202eb\u200bc\u001b[2J' } })
  expect(approver.asked).toEqual([
    {
      sessionId: session.id, callId: 'c1', tool: 'echo', label: 'E\\u{202e}cho', mode: 'local', kind: 'other',
      origin: 'global extension sample 1.0.0', approvalKey: 'echo',
      answers: [
        { decision: 'once', covers: 'call', words: 'this call' },
        { decision: 'session', covers: 'key', words: 'every call of echo in this session', keys: ['echo'] },
        {
          decision: 'project', covers: 'key', words: 'every call of echo in every session of this project',
          keys: ['echo'],
        },
      ],
      leavesOut: ['text'], argumentsText: '{\n  "text": "a\\u{202e}b\\u{200b}c\\u001b[2J"\n}', touches: [],
      mayTouch: ['reach example.com'],
      reasons: [
        'the rule "echo *" of the session#/rules/0 asks', 'the tool acts on this machine', 'unusual\\u{1b}[31m',
        'this tool requires approval',
      ],
    },
  ])
})

test('an interactor answers approvals if there is no approver', async () => {
  const interactor = new ScriptedInteractor(
    ({ request }) => ({ status: 'accepted', value: { decision: request.kind === 'Approve' ? 'session' : 'reject' } }),
  )
  const world = createWorld()
  const session = await world.host.openSession({ interactor })
  expect(verdictOf(await session.call({ id: 'c1', name: 'echo', arguments: {} }))).toBe('output')
  expect(verdictOf(await session.call({ id: 'c2', name: 'echo', arguments: {} }))).toBe('output')
  expect(interactor.asked).toMatchObject([{ source: 'host', request: { kind: 'Approve', approval: { callId: 'c1' } } }])
  expect(world.eventsOf('InteractionRaised')).toHaveLength(1)
  expect(world.eventsOf('InteractionAnswered')).toMatchObject([{ status: 'accepted' }])
})

test.each<[string, SessionOptions]>([
  ['rejects', { interactor: new ScriptedInteractor(() => ({ status: 'rejected', reason: 'no' })) }],
  ['does not answer in time', { interactor: new ScriptedInteractor(() => ({ status: 'timeout' })) }],
  ['answers nonsense', { interactor: new ScriptedInteractor(() => ({ status: 'accepted', value: 'sure' })) }],
  ['answers in no known form', { interactor: new ScriptedInteractor(() => 'yes' as never) }],
  ['throws', { interactor: new ScriptedInteractor(() => { throw new Error('terminal gone') }) }],
  ['throws as an approver', { approver: { approve: () => { throw new Error('gone') } } }],
  ['answers nonsense as an approver', { approver: { approve: async () => true as never } }],
])('an approver that %s does not approve', async (_, session) => {
  expect((await decide({ session })).verdict).toBe('ApprovalDenied')
})

test('an invalid key from a template denies the call, and the error names the value to shorten', async () => {
  const world = createWorld({ extensions: [{ tools: { echo: CITY } }] })
  const session = await world.host.openSession({ mode: 'yolo' })
  expect(await session.call({ id: 'c1', name: 'echo', arguments: { city: 'x'.repeat(2_000) } })).toMatchObject({
    error: { code: 'ApprovalKeyInvalid' },
    error_text: expect.stringMatching(
      /made of "city", has 2000 bytes; 1024 are allowed\. If an argument .* call with a shorter one/,
    ),
  })
  expect(await session.explain({ id: 'c1', name: 'echo', arguments: { city: 'x'.repeat(2_000) } })).toMatchObject({
    decision: 'deny', code: 'ApprovalKeyInvalid', remedies: [expect.stringContaining('call with a shorter one')],
  })
  expect(world.sandbox.requests).toEqual([])
})
