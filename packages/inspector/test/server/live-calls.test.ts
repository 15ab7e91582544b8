import type { BulkheadEvent } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { LiveCalls } from '../../src/server/calls/live-calls.ts'
import type { Inspected, ObservedUse, QuestionChange } from '../../src/server/inspected.ts'

/** A host whose events a test makes, and a clock that it moves. */
function tracked() {
  let now = 0
  let event: (event: BulkheadEvent) => void = () => undefined
  let use: (use: ObservedUse) => void = () => undefined
  let ask: (change: QuestionChange) => void = () => undefined
  const source = {
    host: 'h', on: (listener: typeof event) => { event = listener; return () => undefined },
    onUse: (listener: typeof use) => { use = listener; return () => undefined },
    questions: { onChange: (listener: typeof ask) => { ask = listener; return () => undefined } },
  } as unknown as Inspected
  const calls = new LiveCalls(source, () => undefined, () => now)
  const origin = { layer: 'bundled', extension: 'bash', version: '1', digest: '' } as const
  const of = { sessionId: 's', callId: 'c', tool: 'bash', origin }
  return {
    calls, of, at: (ms: number) => { now = ms },
    emit: (body: object) => event({ at: '2026-01-01T00:00:00.000Z', ...body } as BulkheadEvent),
    use: (given: ObservedUse) => use(given), ask: (given: QuestionChange) => ask(given),
  }
}

it('makes a flame of what happens to a call', () => {
  const { calls, of, emit, use, ask, at } = tracked()
  emit({ type: 'ToolInvocationProposed', ...of, arguments: {} })
  at(1)
  ask({ is: 'open', session: 's', call: 'c' })
  expect(calls.get('s/c')!.item.state).toBe('waiting')
  at(11)
  ask({ is: 'closed', session: 's', call: 'c' })
  const by = { stage: 'approval', source: 'person', reason: 'yes' }
  emit({ type: 'ToolInvocationDecided', ...of, decision: 'allow', ...by, approvalKey: 'ls', arguments: {} })
  at(12)
  emit({ type: 'ToolInvocationStarted', ...of, attempt: 1 })
  const changed = { type: 'LifecycleStateChanged', extensionId: 'bash', generation: 1 }
  emit({ ...changed, from: 'validated', to: 'initialising' })
  at(16)
  emit({ ...changed, from: 'activating', to: 'active' })
  at(17)
  // A reload: the call runs in the older compartment.
  emit({ ...changed, generation: 2, from: 'validated', to: 'initialising' })
  emit({ ...changed, generation: 2, from: 'activating', to: 'active' })
  at(19)
  const counted = { ms: 2, failed: false, bytesRead: 0, bytesWritten: 5 }
  use({ tool: 'bash', part: 'shell', subject: 'ls', session: 's', call: 'c', ...counted })
  at(20)
  emit({ type: 'ToolInvocationSucceeded', ...of, durationMs: 20, phases: [{ kind: 'settle', fromMs: 19, ms: 1 }] })
  const { item, spans } = calls.get('s/c')!
  expect(item).toMatchObject({ state: 'succeeded', ms: 20, waitedMs: 10, subject: 'ls', by: 'person: yes' })
  expect(spans.map(({ kind, depth, fromMs, ms }) => [kind, depth, fromMs, ms])).toEqual([
    ['policy', 0, 0, 1], ['person', 0, 1, 10], ['policy', 0, 11, 0], ['queue', 0, 11, 1], ['run', 0, 12, 7],
    ['start', 1, 12, 4], ['use', 1, 17, 2], ['settle', 0, 19, 1],
  ])
})

it('shows a call that was refused before it began', () => {
  const { calls, of, emit, at } = tracked()
  at(10)
  const refused = { type: 'ToolInvocationCancelled', errorCode: 'ToolNotRegistered', reason: 'There is none.' }
  emit({ ...refused, ...of, tool: 'nope', origin: null, attempt: 0, durationMs: 2 })
  expect(calls.takeChanged().map(({ item }) => item)).toMatchObject([
    { tool: 'nope', state: 'cancelled', code: 'ToolNotRegistered', origin: null, ms: 2 },
  ])
})

it('keeps a bounded number of calls that ended, and sends each change once', () => {
  const { calls, of, emit } = tracked()
  for (let count = 0; count < 5_000; count++) {
    const one = { ...of, callId: String(count) }
    emit({ type: 'ToolInvocationProposed', ...one, arguments: {} })
    emit({ type: 'ToolInvocationSucceeded', ...one, durationMs: 0 })
  }
  expect([...calls.all()].length).toBeLessThan(4_001)
  expect(calls.get('s/4999')).toBeDefined()
  expect([calls.takeChanged().length, calls.takeChanged().length]).toEqual([5_000, 0])
})

it('cuts and escapes text of strangers', () => {
  const { calls, of, emit } = tracked()
  emit({ type: 'ToolInvocationProposed', ...of, tool: 'a\u202Eb', arguments: {} })
  const denied = { decision: 'deny', stage: 'rule', source: 'r', reason: 'x'.repeat(10_000) }
  emit({ type: 'ToolInvocationDecided', ...of, ...denied, approvalKey: '\u0007', arguments: {} })
  const { item: { tool, subject, by, state } } = calls.get('s/c')!
  expect([tool, subject, by!.length < 2_100, state]).toEqual(['a\\u{202e}b', '\\u{7}', true, 'denied'])
})
