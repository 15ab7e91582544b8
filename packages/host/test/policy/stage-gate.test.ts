import type { InteractionEnvelope, InteractionResponse, MachineStage, StateMachine } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import type { SessionOptions } from '../../src/index.ts'
import { digestOf } from '../../src/policy/model/stage-permit.ts'
import { flush } from '../twin/clock.ts'
import { ScriptedApprover, ScriptedInteractor } from '../twin/people.ts'
import { createWorld, verdictOf, type ToolSketch } from '../twin/world.ts'

/** A workflow in the stage that the test sets. */
class Machine implements StateMachine {
  readonly id = 'release'
  now: MachineStage | undefined

  constructor(...allowedTools: string[]) {
    this.now = { stageExecutionId: 'x1', name: 'plan', attempt: 1, allowedTools }
  }

  stage() {
    return this.now
  }
}

const call = { id: 'c', name: 'echo', arguments: { a: 1 } }

async function opened(options: SessionOptions, tool: ToolSketch = {}) {
  const world = createWorld({ extensions: [{ tools: { echo: tool } }] })
  return { world, session: await world.host.openSession(options) }
}
const grants = (answer: InteractionResponse) => new ScriptedInteractor(() => answer)

describe('a tool that the stage lists', () => {
  test('is allowed in every mode, and the decision names the machine', async () => {
    const { world, session } = await opened({ stateMachine: new Machine('echo') })
    expect(await session.explain(call)).toMatchObject({ decision: 'allow' })
    expect(verdictOf(await session.call(call))).toBe('output')
    expect(world.eventsOf('ToolInvocationDecided')).toMatchObject([
      {
        decision: 'allow', stage: 'state-machine', source: 'sm-envelope',
        reason: 'the stage "plan" of the state machine release lists it',
      },
    ])
  })

  test.each<[string, SessionOptions, string]>([
    ['a guard', { guards: [() => ({ action: 'deny', reason: 'no' })] }, 'GuardDenied'],
    ['a watchdog', { watchdog: () => ({ action: 'deny', reason: 'no' }) }, 'WatchdogDenied'],
    ['a rule', { rules: [{ permission: 'echo', pattern: '*', action: 'deny' }] }, 'RuleDenied'],
    ['a role', { roles: { allow_echo: false } }, 'RoleDenied'],
    ['a ceiling', { ceiling: {} }, 'CapabilityDenied'],
    [
      'a rule that asks where no user is', { rules: [{ permission: 'echo', pattern: '*', action: 'ask' }] },
      'ApprovalDenied',
    ],
  ])('is still denied by %s', async (_, options, code) => {
    const { world, session } = await opened({ ...options, stateMachine: new Machine('echo') })
    expect(await session.explain(call)).toMatchObject({ decision: 'deny', code })
    expect(verdictOf(await session.call(call))).toBe(code)
    expect(world.sandbox.compartments.flatMap(({ calls }) => calls)).toEqual([])
  })

  test('still asks if the tool acts on this computer', async () => {
    const { session } = await opened({ stateMachine: new Machine('echo') }, { mode: 'local' })
    expect(verdictOf(await session.call(call))).toBe('ApprovalDenied')
  })

  test('does not run if the stage ends first', async () => {
    const machine = new Machine('echo')
    const { world, session } = await opened({ stateMachine: machine, strategy: 'sequential' }, {
      execute: () => { machine.now = { ...machine.now!, stageExecutionId: 'x2', name: 'ship' }; return 1 },
    })
    const outcomes = await session.callAll([call, { ...call, id: 'd' }])
    expect(outcomes.map(verdictOf)).toEqual(['output', 'ApprovalDenied'])
    expect(outcomes[1]).toMatchObject({
      error_text: expect.stringContaining('the stage "plan", which permitted it, is over'), metadata: { attempt: 0 },
    })
    expect(world.eventsOf('ToolInvocationDecided').map(({ decision, stage }) => `${decision} ${stage}`))
      .toEqual(['allow state-machine', 'allow state-machine', 'deny state-machine'])
  })
})

describe('a tool that the stage does not list', () => {
  test('is granted by a person for one call, with its full arguments', async () => {
    const asked: InteractionEnvelope[] = []
    const interactor = new ScriptedInteractor((envelope) => {
      asked.push(envelope)
      return { status: 'accepted', value: true }
    })
    const { world, session } = await opened({ stateMachine: new Machine('read'), interactor })
    expect(await session.explain(call)).toMatchObject({
      decision: 'ask', remedies: [expect.stringContaining('grant the call')],
    })
    expect(verdictOf(await session.call(call))).toBe('output')
    expect(asked.map(({ request }) => request)).toMatchObject([
      {
        kind: 'grantStageTool', tool: 'echo', stage: 'plan', argsDigest: digestOf(call.arguments),
        approval: {
          tool: 'echo', argumentsText: '{\n  "a": 1\n}',
          reasons: ['the stage "plan" of the state machine release does not list it'],
        },
      },
    ])
    expect(world.eventsOf('ToolInvocationDecided')).toMatchObject([
      { decision: 'allow', stage: 'state-machine', source: 'sm-grant-token' },
    ])
    await session.call(call)
    expect(asked).toHaveLength(2)
  })

  test.each<[string, InteractionResponse]>([
    ['says no', { status: 'accepted', value: false }], ['defers', { status: 'rejected', reason: 'later' }],
    ['does not answer', { status: 'timeout' }],
  ])('is denied when the person %s', async (_, answer) => {
    const { world, session } = await opened({ stateMachine: new Machine(), interactor: grants(answer) })
    expect(verdictOf(await session.call(call))).toBe('ApprovalDenied')
    expect(world.sandbox.compartments.flatMap(({ calls }) => calls)).toEqual([])
  })

  test('is denied when a rule demands a passkey, and the person has none', async () => {
    const rules = [{ permission: 'echo', pattern: '*', action: 'ask', passkey: true }] as const
    const interactor = grants({ status: 'accepted', value: true })
    const { world, session } = await opened({ stateMachine: new Machine(), interactor, rules: [...rules] })
    expect(verdictOf(await session.call(call))).toBe('ApprovalDenied')
    expect(world.sandbox.compartments.flatMap(({ calls }) => calls)).toEqual([])
  })

  test('is denied without a person, also in yolo and with an allow rule', async () => {
    const options: SessionOptions = {
      stateMachine: new Machine(), mode: 'yolo', rules: [{ permission: 'echo', pattern: '*', action: 'allow' }],
    }
    const { session } = await opened(options)
    expect(await session.explain(call)).toMatchObject({ decision: 'deny', code: 'ApprovalDenied' })
    expect(verdictOf(await session.call(call))).toBe('ApprovalDenied')
  })

  test('is not granted by an earlier approval, and a grant is not an approval', async () => {
    const machine = new Machine()
    const approver = new ScriptedApprover('session')
    const { session } = await opened({ stateMachine: machine, approver })
    await session.call(call)
    await session.call(call)
    expect(approver.asked).toHaveLength(2)
    machine.now = undefined
    await session.call(call)
    await session.call(call)
    expect(approver.asked).toHaveLength(3)
  })

  test('is not granted by an approval that answers another question meanwhile', async () => {
    const approver = new ScriptedApprover()
    const { world, session } = await opened({ stateMachine: new Machine(), approver })
    const free = await world.host.openSession({ approver: new ScriptedApprover('project') })
    const outcomes = ['asked', 'in line'].map((id) => session.call({ ...call, id }))
    await flush()
    expect(verdictOf(await free.call(call))).toBe('output')
    expect(await world.host.approvals.list()).toMatchObject([{ tool: 'echo', scope: 'project', uses: 0 }])
    approver.answer('reject')
    await flush()
    expect(approver.asked).toHaveLength(2)
    approver.answer('reject')
    expect((await Promise.all(outcomes)).map(verdictOf)).toEqual(['ApprovalDenied', 'ApprovalDenied'])
    expect(await world.host.approvals.list()).toMatchObject([{ uses: 0 }])
  })

  test('does not run if the stage is retried while the person is asked', async () => {
    const machine = new Machine()
    const approver = new ScriptedApprover()
    const { session } = await opened({ stateMachine: machine, approver })
    const outcome = session.call(call)
    await flush()
    machine.now = { ...machine.now!, attempt: 2 }
    approver.answer('once')
    expect(verdictOf(await outcome)).toBe('ApprovalDenied')
  })

  test('ends when it is cancelled, also if the person never answers', async () => {
    const { session } = await opened({ stateMachine: new Machine(), approver: new ScriptedApprover() })
    const cancel = new AbortController()
    const outcome = session.call(call, { signal: cancel.signal })
    await flush()
    cancel.abort()
    expect(verdictOf(await outcome)).toBe('ToolCancelled')
  })

  test('ends the turn of a headless session that halts', async () => {
    const { session } = await opened({ stateMachine: new Machine(), headless: 'halt' })
    session.beginTurn()
    expect(await session.call(call)).toMatchObject({
      error: { code: 'TurnCancelled', data: { requestKind: 'grantStageTool' } },
    })
  })
})

test('without a stage the mode decides, and for ungated tools the machine is not asked', async () => {
  const machine = new Machine()
  machine.now = undefined
  const { session } = await opened({ stateMachine: machine })
  expect((await session.explain(call)).chain.at(-2)).toMatchObject({ stage: 'security-mode' })
  const { session: open } = await opened(
    {
      stateMachine: {
        id: 'm',
        stage: () => {
          throw new Error('asked')
        },
      },
    },
    { gated: false, mode: 'read', requires: {} },
  )
  expect(verdictOf(await open.call(call))).toBe('output')
})

test.each<[string, () => unknown]>([
  ['throws', () => { throw new Error('confused') }],
  ['has no list of tools', () => ({ stageExecutionId: 'x', name: 'n', attempt: 1 })],
  ['has an answer that is none', () => null],
])('a machine that %s denies the call', async (_, stage) => {
  const { session } = await opened({ mode: 'yolo', stateMachine: { id: 'm', stage: stage as never } })
  expect(verdictOf(await session.call(call))).toBe('ApprovalDenied')
})

test('the machine of a session also applies to its sub-agents, whose machine cannot allow more', async () => {
  const { session } = await opened({ stateMachine: new Machine() })
  const subagent = await session.openSubagent({ stateMachine: new Machine('echo') })
  expect(verdictOf(await subagent.call(call))).toBe('ApprovalDenied')
})
