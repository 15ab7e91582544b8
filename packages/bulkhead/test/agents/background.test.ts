import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { AgentRequest, AgentRunner, BulkheadEvent, Session } from '../../src/index.ts'
import { createFakeClock, createTestHost, type TestHost } from '../../src/testing/index.ts'
import '../../src/testing/vitest.ts'

const task = (id = 'task', prompt = 'look') =>
  ({ id, name: 'task', arguments: { subagent_type: 'scout', prompt, background: true } })

interface Run extends AgentRequest {
  readonly signal: AbortSignal
  readonly end: PromiseWithResolvers<{ output: string }>
}

const clock = createFakeClock(new Date('2030-01-01T00:00:00Z'))
let host: TestHost
let runs: Run[]
let session: Session
const runAgent: AgentRunner = (request, signal) => {
  const end = Promise.withResolvers<{ output: string }>()
  runs.push({ ...request, signal, end })
  return end.promise
}
beforeAll(async () => {
  host = await createTestHost({ runAgent, clock, tools: { hang: () => new Promise(() => undefined) } })
})
afterAll(() => host.close())
beforeEach(async () => {
  runs = []
  session = await host.openSession({ mode: 'yolo' })
})
const resultsOf = async (of: Session = session) => {
  const { results } = of.beginTurn()
  await of.endTurn()
  return results
}

it('returns the session at once, and delivers the result once, at the next turn', async () => {
  session.beginTurn()
  const outcome = await session.call(task('t1'))
  const [{ session: child, background, end }] = runs as [Run]
  expect(outcome).toSucceedWith({ session_id: child.id })
  expect(outcome.metadata.child_loop_id).toBe(child.id)
  expect(background).toBe(true)
  await session.endTurn()
  const known = { id: child.id, agent: 'scout', callId: 't1', startedAt: '2030-01-01T00:00:00.000Z' }
  expect(session.tasks()).toEqual([{ ...known, state: 'running' }])
  expect(await resultsOf()).toEqual([])
  await clock.advance(1_500)
  end.resolve({ output: 'found' })
  await closed(child)
  expect(session.tasks()).toEqual([{ ...known, state: 'succeeded' }])
  const results = await resultsOf()
  expect(results).toMatchObject([{ ...known, state: 'succeeded' }])
  expect(results[0]!.outcome).toEqual({
    type: 'output', data: { output: 'found' }, content: [{ type: 'text', text: 'found' }],
    metadata: {
      call_id: 't1', tool: 'task',
      origin: { layer: 'bundled', extension: 'task', version: expect.any(String), digest: expect.any(String) },
      duration_ms: 1_500, attempt: 1, child_loop_id: child.id,
    },
  })
  expect([session.tasks(), await resultsOf()]).toEqual([[], []])
})

/** Resolves when a session of a task is closed. By then its result can be delivered. */
const closed = (child: Session): Promise<void> => new Promise((resolve) => {
  const stop = host.on((event: BulkheadEvent) => {
    if (!('sessionId' in event) || event.sessionId !== child.id) return
    stop()
    resolve()
  }, ['SessionClosed'])
})

it('delivers a failure as an error that does not end the run', async () => {
  await session.call(task())
  const ended = closed(runs[0]!.session)
  runs[0]!.end.reject(new Error('no model'))
  await ended
  const [result] = await resultsOf()
  expect(result).toMatchObject({
    state: 'failed', outcome: { error_text: 'no model', completion: { needsFollowup: true } },
  })
  expect(result!.outcome).toFailWith('ToolExecutionFailed')
})

it('delivers a cancelled task as cancelled, although its runner ignores the signal', async () => {
  await session.call(task('t1'))
  await session.call(task('t2'))
  const [first, second] = runs as [Run, Run]
  const open = first.session.call({ id: 'h', name: 'hang', arguments: {} })
  expect(await session.cancelTask('unknown')).toBe(false)
  expect(await session.cancelTask(first.session.id)).toBe(true)
  expect(await session.cancelTask(first.session.id)).toBe(false)
  expect([first.signal.aborted, second.signal.aborted]).toEqual([true, false])
  expect(await open).toFailWith('SessionCancelled')
  expect(session.tasks().map(({ callId, state }) => [callId, state])).toEqual([['t2', 'running'], ['t1', 'cancelled']])
  const [result] = await resultsOf()
  expect(result!.outcome).toMatchObject({
    error: { code: 'ToolCancelled' }, error_text: expect.stringMatching(/^The task was cancelled\./),
  })
  expect(result!.outcome).toMatchObject({ completion: { needsFollowup: true } })
})

it('delivers several results in the order of their ends', async () => {
  for (const id of ['a', 'b', 'c']) await session.call(task(id, id))
  for (const index of [2, 0, 1]) {
    const ended = closed(runs[index]!.session)
    runs[index]!.end.resolve({ output: runs[index]!.prompt })
    await ended
  }
  expect((await resultsOf()).map(({ callId }) => callId)).toEqual(['c', 'a', 'b'])
})

it('ends with its session, not with the call or the turn', async () => {
  const turn = session.beginTurn()
  const stop = new AbortController()
  await session.call(task(), { signal: stop.signal })
  stop.abort()
  turn.cancel()
  await session.endTurn()
  const [{ signal, session: child }] = runs as [Run]
  expect(signal.aborted).toBe(false)
  await session.close()
  expect(signal.aborted).toBe(true)
  expect(await child.call({ id: 'x', name: 'hang', arguments: {} })).toFailWith('SessionCancelled')
})

it('keeps tasks of sessions apart, also if their calls have the same id', async () => {
  const other = await host.openSession({ mode: 'yolo' })
  await Promise.all([session.call(task('same', 'one')), other.call(task('same', 'two'))])
  for (const { end, prompt, session: child } of runs) {
    const ended = closed(child)
    end.resolve({ output: prompt })
    await ended
  }
  const outcomes = [...await resultsOf(), ...await resultsOf(other)].map(({ outcome }) => outcome)
  expect(outcomes).toMatchObject([
    { data: { output: 'one' }, metadata: { call_id: 'same' } },
    { data: { output: 'two' }, metadata: { call_id: 'same' } },
  ])
})

it('sends no updates to a call that is over', async () => {
  const updates: unknown[] = []
  await session.call(task(), { onProgress: (each) => void updates.push(each) })
  runs[0]!.update({ step: 1 })
  await clock.advance(0)
  expect(updates).toEqual([])
})
