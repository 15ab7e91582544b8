import { toToolMessage } from '@bulkhead/bridges/openai'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type {
  AgentRequest, AgentRunner, BulkheadEvent, CallProgress, CallView, Session, SessionOptions,
} from '../../src/index.ts'
import { createScriptedApprover, createTestHost, type ScriptedAnswer, type TestHost } from '../../src/testing/index.ts'
import '../../src/testing/vitest.ts'

const task = (id: string = crypto.randomUUID(), more: object = {}) => ({
  id, name: 'task', arguments: { subagent_type: 'scout', prompt: 'look', ...more },
})
const pay = (id: string = crypto.randomUUID()) => ({ id, name: 'pay', arguments: {} })

let host: TestHost
let run: AgentRunner
let events: BulkheadEvent[] = []
beforeAll(async () => {
  host = await createTestHost({
    runAgent: (request, signal) => run(request, signal),
    tools: { pay: { gated: true, execute: () => 'paid' }, hang: () => new Promise(() => undefined) },
  })
  host.on((event) => events.push(event))
})
afterAll(() => host.close())
beforeEach(() => { events = [] })
const typesOf = (start: string) => events.filter(({ type }) => type.startsWith(start))
const answering = (...answers: ScriptedAnswer[]) => createScriptedApprover(answers)
/** A runner that makes one call in its session and returns what came of it. */
const calling = (call: Parameters<Session['call']>[0]): AgentRunner => async ({ session }) => {
  const outcome = await session.call(call)
  return { output: outcome.type === 'output' ? String(outcome.data) : outcome.error.code }
}

it('a runner gets a session that is open while it runs, below the session that delegates', async () => {
  let request: AgentRequest | undefined
  run = async (given) => {
    request = given
    expect(await given.session.call(pay())).toSucceedWith('paid')
    return { output: 'done' }
  }
  const session = await host.openSession({ mode: 'yolo' })
  const outcome = await session.call(task('t', { metadata: { a: 1 } }))
  expect(outcome).toSucceedWith({ output: 'done' })
  expect(request).toMatchObject({ agent: { name: 'scout' }, prompt: 'look', metadata: { a: 1 }, background: false })
  const { session: child } = request!
  expect(child.depth).toBe(1)
  expect(outcome.metadata.child_loop_id).toBe(child.id)
  expect(await child.call(pay())).toFailWith('SessionCancelled')
  expect(typesOf('Session')).toMatchObject([
    { type: 'SessionOpened', sessionId: session.id },
    { type: 'SessionOpened', sessionId: child.id, parentId: session.id },
    { type: 'SessionClosed', sessionId: child.id },
  ])
})

it.each<[string, SessionOptions, string]>([
  [
    'a rule of the parent', { mode: 'yolo', rules: [{ permission: 'pay', pattern: '*', action: 'deny' }] },
    'RuleDenied',
  ],
  ['the tools of the parent', { mode: 'yolo', tools: ['task'] }, 'ToolNotRegistered'],
  ['the person of the parent', { mode: 'ask', approver: answering('once', 'reject') }, 'ApprovalDenied'],
  [
    'a watchdog of the parent',
    {
      mode: 'yolo',
      watchdog: ({ tool }: CallView) => (tool.name === 'pay' ? { action: 'deny', reason: 'no' } : { action: 'allow' }),
    },
    'WatchdogDenied',
  ],
  ['nothing, if the person agrees', { mode: 'ask', approver: answering('once', 'once') }, 'paid'],
  [
    'nothing, if a rule of the parent allows it',
    { mode: 'ask', approver: answering('once'), rules: [{ permission: 'pay', pattern: '*', action: 'allow' }] }, 'paid',
  ],
])('a call of a sub-agent is stopped by %s', async (_, options, verdict) => {
  run = calling(pay())
  const session = await host.openSession(options)
  expect(await session.call(task())).toSucceedWith({ output: verdict })
})

it('sub-agents delegate five levels deep', async () => {
  const depths: number[] = []
  run = async ({ session }) => {
    depths.push(session.depth)
    const outcome = await session.call(task())
    return { output: outcome.type === 'output' ? (outcome.data as { output: string }).output : outcome.error.code }
  }
  const session = await host.openSession({ mode: 'yolo' })
  expect(await session.call(task())).toSucceedWith({ output: 'SubagentDepthExceeded' })
  expect(depths).toEqual([1, 2, 3, 4, 5])
})

it('a sub-agent uses the budget of the session and of the workflow', async () => {
  run = async ({ session }) => {
    for (const id of ['1', '2']) expect(await session.call(pay(id))).toSucceedWith('paid')
    return { output: 'done' }
  }
  const session = await host.openSession({ mode: 'yolo', budget: { calls: 3 } })
  expect(await session.call(task())).toSucceedWith({ output: 'done' })
  expect(await session.call(pay())).toFailWith('BudgetExhausted')
  const free = await host.openSession({ mode: 'yolo' })
  await host.runWorkflow({ calls: 3 }, async () => {
    expect(await free.call(task())).toSucceedWith({ output: 'done' })
    expect(await free.call(pay())).toFailWith('BudgetExhausted')
  })
  expect(await free.call(pay())).toSucceedWith('paid')
})

it.each(['call', 'turn', 'session'] as const)('a cancelled %s cancels what the sub-agent does', async (what) => {
  const started = Promise.withResolvers<AbortSignal>()
  const ended = Promise.withResolvers<unknown>()
  run = async ({ session }, signal) => {
    started.resolve(signal)
    ended.resolve(await session.call({ id: 'h', name: 'hang', arguments: {} }))
    // A runner that ignores its signal does not hold anything up.
    return new Promise(() => undefined)
  }
  const session = await host.openSession({ mode: 'yolo' })
  const turn = session.beginTurn()
  const stop = new AbortController()
  const delegating = session.call(task(), { signal: stop.signal })
  const signal = await started.promise
  if (what === 'call') stop.abort()
  else if (what === 'turn') turn.cancel()
  else session.cancel()
  expect(await delegating).toMatchObject({ type: 'error', error: { class: 'Cancellation' } })
  expect(await ended.promise).toMatchObject({ type: 'error', error: { class: 'Cancellation' } })
  expect(signal.aborted).toBe(true)
  await session.close()
  expect(typesOf('SessionClosed')).toHaveLength(2)
})

it('updates reach the call in order, with the session of the sub-agent', async () => {
  let id = ''
  run = async ({ session, update }) => {
    ;({ id } = session)
    for (const step of [1, 2, 3]) update({ step })
    return { output: 'done' }
  }
  const session = await host.openSession({ mode: 'yolo' })
  const progress: CallProgress[] = []
  await session.call(task(), { onProgress: (each) => void progress.push(each) })
  expect(progress.map(({ partial }) => partial)).toEqual(
    [1, 2, 3].map((step) => ({ child_loop_id: id, event: { step } })),
  )
  expect(typesOf('ToolInvocationUpdated')).toHaveLength(3)
})

it('what a sub-agent calls reaches the call that delegates, at every level, without code of the runner', async () => {
  const ids: string[] = []
  run = async ({ session, prompt }) => {
    ids.push(session.id)
    const given = { key: 1 }
    await session.call(
      prompt === 'look' ? task('inner', { prompt: 'deeper' }) : { id: 'p', name: 'pay', arguments: given },
    )
    expect(Object.isFrozen(given)).toBe(false)
    return { output: 'done' }
  }
  const session = await host.openSession({ mode: 'yolo' })
  const partials: unknown[] = []
  await session.call(task(), { onProgress: ({ partial }) => void partials.push(partial) })
  const [child, grandchild] = ids
  const of = (type: string, more: object = {}) => ({
    child_loop_id: child,
    event: { type: `ToolInvocation${type}`, sessionId: child, callId: 'inner', tool: 'task', ...more },
  })
  const inner = (type: string) =>
    of('Updated', {
      partial: { child_loop_id: grandchild, event: { type: `ToolInvocation${type}`, callId: 'p', tool: 'pay' } },
    })
  expect(partials).toMatchObject([
    of('Proposed'), of('Started'), inner('Proposed'), inner('Started'), inner('Succeeded'), of('Succeeded'),
  ])
  partials.length = 0
  await session.call(task('later', { background: true }), { onProgress: ({ partial }) => void partials.push(partial) })
  expect(partials).toEqual([])
})

it('the model gets the text of a sub-agent, and a program its data', async () => {
  run = async () => ({ output: 'two lines\nof text' })
  const session = await host.openSession({ mode: 'yolo' })
  const outcome = await session.call(task())
  expect(outcome).toMatchObject({
    data: { output: 'two lines\nof text' }, content: [{ type: 'text', text: 'two lines\nof text' }],
  })
  expect(toToolMessage(outcome)).toMatchObject({ content: 'two lines\nof text' })
})

it.each([
  ['throws', () => { throw new Error('no model') }, 'no model'],
  ['rejects', () => Promise.reject(new Error('no model')), 'no model'],
  ['returns nothing', async () => undefined, 'runAgent must resolve with { output }'],
  ['returns another form', async () => ({ output: 1 }), 'runAgent must resolve with { output }'],
])('a runner that %s fails the call, and its session is closed', async (_, runner, text) => {
  run = runner as never
  const session = await host.openSession({ mode: 'yolo' })
  const outcome = await session.call(task())
  expect(outcome).toFailWith('ToolExecutionFailed')
  expect(outcome).toMatchObject({ error_text: expect.stringContaining(text) })
  expect(typesOf('SessionClosed')).toHaveLength(1)
})
