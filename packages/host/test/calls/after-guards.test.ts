import { describe, expect, test } from 'vitest'
import type { Guard, ResultAnswer, SessionOptions } from '../../src/index.ts'
import { flush } from '../twin/clock.ts'
import { createWorld, verdictOf, type ToolSketch } from '../twin/world.ts'

const call = { id: 'c', name: 'echo', arguments: {} }
const guard = (id: string, post: Guard['post'] & {}): Guard => ({ id, post })

async function called(guards: SessionOptions['guards'] & {}, tool: ToolSketch = {}, config = {}) {
  const world = createWorld({
    extensions: [{ tools: { echo: { execute: () => ({ secret: 'x' }), ...tool } } }], config,
  })
  const session = await world.host.openSession({ mode: 'yolo', guards })
  return { world, session, outcome: await session.call(call) }
}

describe('a guard after the call', () => {
  test('withholds the result of a tool that has run', async () => {
    const { world, outcome } = await called([guard('dlp', () => ({ action: 'deny', reason: 'it holds a secret' }))])
    expect(outcome).toMatchObject({
      type: 'error', error: { code: 'GuardDenied', data: { source: 'guard dlp' } },
      error_text: expect.stringContaining('it holds a secret'),
      metadata: { attempt: 1 },
    })
    expect(JSON.stringify(outcome)).not.toContain('secret":')
    expect(world.compartment().calls).toHaveLength(1)
    expect(world.eventsOf('ToolInvocationFailed')).toMatchObject([{ errorCode: 'GuardDenied' }])
  })

  test('is named if it gives no reason', async () => {
    const { outcome } = await called([guard('dlp', () => ({ action: 'deny' }) as never)])
    expect(outcome).toMatchObject({
      error_text: expect.stringContaining('was withheld: the guard dlp gave no reason.'),
    })
  })

  test('fails if its answer is invalid', async () => {
    const { outcome } = await called([guard('dlp', () => ({ get action(): never { throw new Error('gone') } }))])
    expect(outcome).toMatchObject({
      error: { code: 'GuardDenied' }, error_text: expect.stringContaining('was withheld: the guard dlp failed: gone.'),
    })
  })

  test('does not refund the budget', async () => {
    const { session, outcome } = await called([guard('dlp', () => ({ action: 'deny', reason: 'no' }))], {
      execute: () => ({ success: true, output: 'x', tokens_used: 500 }),
    })
    expect(outcome).toMatchObject({ error: { code: 'GuardDenied' }, metadata: { tokens_used: 500 } })
    await session.close()
  })

  test('replaces the result completely, and that is reported', async () => {
    const full = {
      type: 'output', data: { secret: 'x' }, content: [{ type: 'text', text: 'x' }], details: { secret: 'x' },
      completion: { terminal: true },
    }
    const { world, outcome } = await called(
      [guard('dlp', () => ({ action: 'change', data: 'hidden', reason: 'secrets' }))], { execute: () => full },
    )
    const { metadata: _, ...body } = outcome
    expect(body).toEqual({ type: 'output', data: 'hidden', completion: { terminal: true } })
    expect(world.eventsOf('ToolInvocationChanged')).toMatchObject([
      {
        subject: 'result', stage: 'guard', source: 'guard dlp', reason: 'secrets',
        before: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    ])
  })

  test('may replace the text of an error', async () => {
    const { outcome } = await called(
      [guard('dlp', (__, { type }) => ({ action: 'change', data: `${type}: hidden`, reason: 'secrets' }))],
      { execute: () => ({ success: false, error: 'the password x is wrong' }) },
    )
    expect(outcome).toMatchObject({
      type: 'error', error_text: 'error: hidden', error: { code: 'ToolExecutionFailed' },
    })
  })

  test('may replace an error only by text', async () => {
    const { outcome } = await called(
      [guard('dlp', () => ({ action: 'change', data: { hidden: true }, reason: 'secrets' }))],
      { execute: () => ({ success: false, error: 'the password x is wrong' }) },
    )
    expect(outcome).toMatchObject({
      error: { code: 'GuardDenied' }, error_text: expect.stringContaining('not a result'),
    })
    expect(JSON.stringify(outcome)).not.toContain('password')
  })

  test.each<[string, Guard['post'] & {}]>([
    ['throws', () => { throw new Error('confused') }],
    ['rejects', async () => { throw new Error('confused') }],
    ['returns an unknown answer', () => ({ action: 'ask', reason: 'hm' }) as unknown as ResultAnswer],
    ['returns null', () => null as never],
    ['returns data that is not JSON', () => ({ action: 'change', data: (() => 1) as never, reason: 'x' })],
  ])('denies when it %s', async (_, post) => {
    const { outcome } = await called([guard('broken', post)])
    expect(verdictOf(outcome)).toBe('GuardDenied')
    expect(JSON.stringify(outcome)).not.toContain('"secret"')
  })

  test('is not asked about ungated tools and calls without a result', async () => {
    let calls = 0
    const count = guard('count', () => { calls++ })
    await called([count], { gated: false, mode: 'read' })
    await called([count], { mode: 'local', effects: 'once', execute: () => { throw new Error('wrong') } })
    expect(calls).toBe(0)
  })

  test('that hangs does not delay a cancelled call', async () => {
    const world = createWorld()
    const session = await world.host.openSession({ mode: 'yolo', guards: [guard('slow', () => new Promise(() => {}))] })
    const cancel = new AbortController()
    const outcome = session.call(call, { signal: cancel.signal })
    await flush()
    cancel.abort()
    expect(verdictOf(await outcome)).toBe('ToolCancelled')
  })
})

describe('the order of guards', () => {
  const noting = (log: string[]) => ['a', 'b', 'c'].map((id): Guard => ({
    id, pre: () => { log.push(`pre ${id}`) }, post: () => { log.push(`post ${id}`) },
  }))

  test('is the order of registration', async () => {
    const log: string[] = []
    await called(noting(log))
    expect(log).toEqual(['pre a', 'pre b', 'pre c', 'post a', 'post b', 'post c'])
  })

  test('follows the configuration; guards that it does not name come last', async () => {
    const log: string[] = []
    await called(noting(log), {}, { guards: { pre: ['c', 'nobody', 'a'], post: ['b'] } })
    expect(log).toEqual(['pre c', 'pre a', 'pre b', 'post b', 'post a', 'post c'])
  })

  test('ends with the guards of the parent session', async () => {
    const log: string[] = []
    const world = createWorld()
    const session = await world.host.openSession({ mode: 'yolo', guards: noting(log).slice(0, 1) })
    const subagent = await session.openSubagent({ mode: 'yolo', guards: noting(log).slice(1, 2) })
    await subagent.call(call)
    expect(log).toEqual(['pre a', 'pre b', 'post b', 'post a'])
  })
})
