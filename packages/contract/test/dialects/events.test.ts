import { describe, expect, it } from 'vitest'
import { toPhiEvents } from '../../src/dialects/phi.ts'
import { toSteerableEvents } from '../../src/dialects/steerable.ts'
import { toStudEvent } from '../../src/dialects/stud.ts'
import { errorOf } from '../../src/dialects/reading.ts'
import type { Json } from '@bulkhead/kit/json'
import type { BulkheadEvent, EventBody, EventType } from '../../src/model/events.ts'
import { base } from '../samples/outcomes.ts'

const at = '2026-05-15T12:00:00.000Z'
const origin = { layer: 'project' as const, extension: 'weather', version: '1.0.0', digest: 'd' }
const call = { sessionId: 's1', callId: 'c1', tool: 'forecast', origin }
const failure = { durationMs: 5, errorClass: 'ToolTerminal' as const, message: 'no' }
const ext = 'weather'
const approval = { approvalId: 'a1', scope: 'project' as const, tool: 'forecast', approvalKey: 'Oslo', origin }

/** One event of each type, so that a new type does not compile without an entry here. */
const every: { readonly [Type in EventType]: Extract<EventBody, { readonly type: Type }> } = {
  ToolInvocationProposed: {
    type: 'ToolInvocationProposed', ...call, arguments: { city: 'Oslo' }, args: { city: 'Oslo' },
  },
  ToolInvocationDecided: {
    type: 'ToolInvocationDecided', ...call, decision: 'allow', stage: 'rules', source: 'x', reason: 'y',
    approvalKey: 'k', arguments: {}, args: {},
  },
  ToolInvocationChanged: {
    type: 'ToolInvocationChanged', ...call, subject: 'arguments', stage: 'watchdog', source: 'x', reason: 'y',
    before: 'a', after: 'b',
  },
  ToolInvocationStarted: { type: 'ToolInvocationStarted', ...call, attempt: 1 },
  ToolInvocationProgress: { type: 'ToolInvocationProgress', ...call, text: 'half' },
  ToolInvocationUpdated: { type: 'ToolInvocationUpdated', ...call, partial: [1] },
  ToolInvocationSucceeded: { type: 'ToolInvocationSucceeded', ...call, durationMs: 5 },
  ToolInvocationFailed: { type: 'ToolInvocationFailed', ...call, ...failure, errorCode: 'ToolExecutionFailed' },
  ToolInvocationCancelled: {
    type: 'ToolInvocationCancelled', ...call, durationMs: 5, attempt: 1, errorCode: 'TurnCancelled', reason: 'stop',
  },
  LifecyclePhaseStart: { type: 'LifecyclePhaseStart', extensionId: ext, phase: 'init' },
  LifecyclePhaseEnd: {
    type: 'LifecyclePhaseEnd', extensionId: ext, phase: 'init', durationMs: 2, ok: true, errorCode: null, message: '',
  },
  LifecycleStateChanged: {
    type: 'LifecycleStateChanged', extensionId: ext, generation: 1, from: 'loaded', to: 'activating',
  },
  CompartmentEnded: { type: 'CompartmentEnded', extensionId: ext, errorCode: null, message: '' },
  ExtensionReloaded: { type: 'ExtensionReloaded', extensionId: ext, generation: 2 },
  ExtensionReloadRefused: { type: 'ExtensionReloadRefused', extensionId: ext, reason: 'never' },
  ExtensionReloadFailed: {
    type: 'ExtensionReloadFailed', extensionId: ext, errorCode: 'LifecycleFailure', message: 'no',
  },
  ToolsChanged: { type: 'ToolsChanged' },
  KeyUsed: { type: 'KeyUsed', extensionId: 'mcp-ship', key: 'TOKEN', host: 'api.test:443', method: 'GET', path: '/v1' },
  KeyRefused: {
    type: 'KeyRefused', extensionId: 'mcp-ship', key: 'TOKEN', host: 'api.test:443', method: 'GET', path: '/v1',
    reason: 'in a URL',
  },
  ServerStartFailed: {
    type: 'ServerStartFailed', server: 'ship', extensionId: 'mcp-ship', errorCode: 'ServerUnavailable', message: 'no',
  },
  WorkspaceSwitched: { type: 'WorkspaceSwitched', from: '/a', to: '/b' },
  ExtensionLog: { type: 'ExtensionLog', extensionId: ext, level: 'info', text: 'x', callId: undefined },
  InteractionRaised: { type: 'InteractionRaised', correlationId: 'i1', kind: 'Ask', source: ext },
  BlockedOnPerson: {
    type: 'BlockedOnPerson', correlationId: 'i1', sessionId: 's1', callId: 'c1', tool: 'forecast', approvalKey: 'Oslo',
    reasons: [], answers: [],
  },
  InteractionAnswered: { type: 'InteractionAnswered', correlationId: 'i1', status: 'accepted' },
  ApprovalGranted: { type: 'ApprovalGranted', ...approval, sessionId: 's1', grantedBy: 'a person', expiresAt: null },
  ApprovalExpired: { type: 'ApprovalExpired', ...approval, expiresAt: at },
  ApprovalRevoked: { type: 'ApprovalRevoked', ...approval, revokedBy: 'a person' },
  TrustDecision: { type: 'TrustDecision', path: '/p', decision: 'trusted' },
  StateSlotDrift: {
    type: 'StateSlotDrift', extensionId: ext, storedVersion: '1', currentVersion: '2', decision: 'warn',
  },
  SessionOpened: { type: 'SessionOpened', sessionId: 's1', workspace: '/w' },
  SessionClosed: { type: 'SessionClosed', sessionId: 's1' },
  TurnBegan: { type: 'TurnBegan', sessionId: 's1', turn: 1 },
  TurnEnded: { type: 'TurnEnded', sessionId: 's1', turn: 1 },
  SuppressedError: { type: 'SuppressedError', source: 'hook', message: 'threw' },
}
const stamp = (body: EventBody): BulkheadEvent => ({ ...body, at }) as BulkheadEvent
const names = (project: (event: BulkheadEvent) => readonly string[]) =>
  Object.fromEntries(Object.values(every).map((body) => [body.type, project(stamp(body)).join(' ')])
    .filter(([, name]) => name !== ''))
const typesOf = (body: EventBody) => toPhiEvents(stamp(body)).map(({ type }) => type)

describe('events in other dialects', () => {
  it('have these names in phi', () => {
    const ended = 'ToolExecutionEnd MessageStart MessageEnd'
    expect(names((event) => toPhiEvents(event).map(({ type }) => type))).toStrictEqual({
      ToolInvocationStarted: 'ToolExecutionStart', ToolInvocationUpdated: 'ToolExecutionUpdate',
      ToolInvocationProgress: 'ProgressMessage',
      ToolInvocationSucceeded: ended, ToolInvocationFailed: ended, ToolInvocationCancelled: ended,
    })
  })

  it('have these names in steerable', () => {
    expect(names((event) => toSteerableEvents(event).map(({ type }) => type))).toStrictEqual({
      ToolInvocationProposed: 'tool_call', ToolInvocationSucceeded: 'tool_result', ToolInvocationFailed: 'tool_result',
      ToolInvocationCancelled: 'tool_result', ToolInvocationProgress: 'loader-hint', SuppressedError: 'error',
      TurnEnded: 'done',
    })
  })

  it('have these names in stud', () => {
    expect(names((event) => [toStudEvent(event)?.name ?? []].flat())).toStrictEqual({
      ...Object.fromEntries([
        'ToolInvocationProposed', 'ToolInvocationStarted', 'ToolInvocationSucceeded', 'ToolInvocationFailed',
        'ToolInvocationCancelled',
        'LifecyclePhaseStart', 'LifecyclePhaseEnd', 'ExtensionReloaded', 'ExtensionReloadRefused', 'InteractionRaised',
        'InteractionAnswered',
        'TrustDecision', 'StateSlotDrift', 'SuppressedError',
      ].map((name) => [name, name])),
      TurnBegan: 'SessionTurnStart', TurnEnded: 'SessionTurnEnd',
    })
  })
})

describe('events of phi', () => {
  it('carry the call and the given context', () => {
    const ids = { loop_id: 's1', tool_call_id: 'c1', tool_name: 'forecast' }
    expect(toPhiEvents(stamp(every.ToolInvocationStarted), { args: { city: 'Oslo' } }))
      .toStrictEqual([{ type: 'ToolExecutionStart', ...ids, args: { city: 'Oslo' } }])
    const outcome = { type: 'output' as const, data: 'hi', metadata: { ...base, child_loop_id: 'l1' } }
    const success = {
      role: 'toolResult', toolCallId: base.call_id, toolName: base.tool, content: [{ type: 'text', text: 'hi' }],
      isError: false, timestamp: Date.parse(at),
    }
    expect(toPhiEvents(stamp(every.ToolInvocationSucceeded), { outcome })).toStrictEqual([
      {
        type: 'ToolExecutionEnd', ...ids, is_error: false, child_loop_id: 'l1',
        result: { content: [{ type: 'text', text: 'hi' }], details: null, child_loop_id: 'l1' },
      },
      { type: 'MessageStart', loop_id: 's1', message: success },
      { type: 'MessageEnd', loop_id: 's1', message: success },
    ])
    const errorResult = { content: [{ type: 'text', text: 'no' }], details: null, child_loop_id: null }
    const [end, begun] = toPhiEvents(stamp(every.ToolInvocationFailed))
    expect(end)
      .toStrictEqual({ type: 'ToolExecutionEnd', ...ids, is_error: true, child_loop_id: null, result: errorResult })
    const failed = { type: 'error' as const, error_text: 'no city', error: errorOf('InputInvalid'), metadata: base }
    expect(toPhiEvents(stamp(every.ToolInvocationFailed), { outcome: failed })[0]).toMatchObject({
      is_error: true, result: { content: [{ type: 'text', text: 'Invalid arguments: no city' }], details: null },
    })
    expect(begun).toMatchObject({
      message: { toolCallId: 'c1', toolName: 'forecast', isError: true, content: [{ type: 'text', text: 'no' }] },
    })
  })

  it('carry a partial result in the form of a result', () => {
    const partial = { content: [{ type: 'text', text: 'half' }], details: { n: 1 }, child_loop_id: null }
    const shown = (value: Json) => toPhiEvents(stamp({ ...every.ToolInvocationUpdated, partial: value }))
    expect(shown(partial)).toMatchObject([{ type: 'ToolExecutionUpdate', partial_result: partial }])
    expect(shown([1])).toMatchObject([
      { partial_result: { content: [{ type: 'text', text: '[1]' }], details: null, child_loop_id: null } },
    ])
    expect(shown({ child_loop_id: 'child', event: 1 })).toMatchObject([{ partial_result: { child_loop_id: 'child' } }])
    expect(shown({ child_loop_id: 1 })).toMatchObject([{ partial_result: { child_loop_id: null } }])
  })

  it('have no start and end for a call that never began, only its result', () => {
    for (const errorCode of ['HookVetoed', 'RuleDenied', 'ToolNotRegistered', 'ToolCancelled'] as const) {
      expect(typesOf({ ...every.ToolInvocationCancelled, attempt: 0, errorCode })).toEqual([
        'MessageStart', 'MessageEnd',
      ])
    }
  })

  it('have both for a call that was skipped for a user message', () => {
    expect(typesOf({ ...every.ToolInvocationStarted, attempt: 0 })).toEqual(['ToolExecutionStart'])
    expect(typesOf({ ...every.ToolInvocationCancelled, attempt: 0, errorCode: 'SkippedBySteering' }))
      .toEqual(['ToolExecutionEnd', 'MessageStart', 'MessageEnd'])
  })

  it('have one start for a call that is retried', () => {
    expect(typesOf({ ...every.ToolInvocationStarted, attempt: 2 })).toEqual([])
  })
})

describe('events of steerable', () => {
  it('carry a closed call and a result', () => {
    expect(toSteerableEvents(stamp(every.ToolInvocationProposed)))
      .toStrictEqual([{ type: 'tool_call', payload: { id: 'c1', name: 'forecast', arguments: { city: 'Oslo' } } }])
    expect(toSteerableEvents(stamp({ ...every.ToolInvocationProposed, arguments: [1], args: [1] })))
      .toMatchObject([{ payload: { arguments: { value: [1] } } }])
    const outcome = { type: 'error' as const, error_text: 'no', error: errorOf('InputInvalid'), metadata: base }
    expect(toSteerableEvents(stamp(every.ToolInvocationFailed), { outcome })).toStrictEqual([
      {
        type: 'tool_result', id: 'c1', name: 'forecast', payload: { success: false, needsFollowup: true, error: 'no' },
      },
    ])
  })

  it('end the run for a cancelled call, but not for a failed or skipped one', () => {
    expect(toSteerableEvents(stamp(every.ToolInvocationFailed)))
      .toMatchObject([{ payload: { success: false, needsFollowup: true, error: 'no' } }])
    expect(toSteerableEvents(stamp(every.ToolInvocationCancelled)))
      .toMatchObject([{ payload: { success: false, terminal: true, error: 'stop' } }])
    expect(toSteerableEvents(stamp({ ...every.ToolInvocationCancelled, errorCode: 'SkippedBySteering' })))
      .toMatchObject([{ payload: { needsFollowup: true } }])
  })
})

describe('other events of steerable', () => {
  it('have the fields of its envelope', () => {
    expect(toSteerableEvents(stamp(every.ToolInvocationProgress)))
      .toStrictEqual([{ type: 'loader-hint', hint: 'half' }])
    expect(toSteerableEvents(stamp(every.SuppressedError))).toStrictEqual([{ type: 'error', message: 'hook: threw' }])
  })
})

describe('an exhausted budget', () => {
  it('is a separate event after the result', () => {
    const cancelled = {
      ...every.ToolInvocationCancelled, attempt: 0, errorCode: 'BudgetExhausted' as const, reason: 'used up',
    }
    expect(toSteerableEvents(stamp(cancelled))).toMatchObject([
      { type: 'tool_result', payload: { success: false, error: 'used up' } },
      { type: 'budget_exhausted', message: 'used up' },
    ])
    for (const [limit, code] of [['calls', { code: 'E_BUDGET_TOOL_CALLS' }], ['tokens', {}]] as const) {
      const error = errorOf('BudgetExhausted', { limit, of: 5, left: 0 })
      const outcome = { type: 'error' as const, error_text: 'used up', error, metadata: base }
      expect(toSteerableEvents(stamp(cancelled), { outcome })[1])
        .toStrictEqual({ type: 'budget_exhausted', message: 'used up', ...code })
    }
  })
})

describe('events of stud', () => {
  it('carry the call with the layer of its tool', () => {
    expect(toStudEvent(stamp(every.ToolInvocationFailed))?.payload).toStrictEqual({
      toolCallId: 'c1', toolName: 'forecast', layer: 'project', ...failure, errorCode: 'ToolExecutionFailed',
    })
    expect(toStudEvent(stamp({ ...every.ToolInvocationStarted, origin: null }))?.payload).toMatchObject({ layer: null })
  })

  it('summarise the arguments of a call that starts, in one line', () => {
    const summary = (args?: Json) => toStudEvent(stamp(every.ToolInvocationStarted), args === undefined ? {} : { args })
      ?.payload['argsSummary']
    expect(summary({ city: 'Oslo' })).toBe('{"city":"Oslo"}')
    expect(summary({ text: 'a\n'.repeat(200) })).toMatch(/^\{"text":"[^\n]{100,130}$/)
    expect(summary()).toBe('')
  })

  it.each([
    ['ApprovalDenied', 'approval-denied'], ['RuleDenied', 'approval-denied'], ['HookVetoed', 'approval-denied'],
    ['GuardDenied', 'approval-denied'],
    ['ToolNotRegistered', 'tool-not-available'], ['ToolsDisabled', 'tool-not-available'],
  ] as const)('call what never ran because of %s cancelled: %s', (errorCode, reason) => {
    const payload = { toolCallId: 'c1', toolName: 'forecast', layer: 'project', durationMs: 5, reason }
    const cancelled = { name: 'ToolInvocationCancelled', payload }
    expect(toStudEvent(stamp({ ...every.ToolInvocationFailed, errorCode }))).toStrictEqual(cancelled)
    expect(toStudEvent(stamp({ ...every.ToolInvocationCancelled, errorCode }))).toStrictEqual(cancelled)
  })

  it('use the reason of stud for a cancelled call', () => {
    expect(toStudEvent(stamp(every.ToolInvocationCancelled))?.payload).toMatchObject({ reason: 'session-cancelled' })
  })
})
