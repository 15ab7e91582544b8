import { describe, expect, test } from 'vitest'
import type { Guard, ResultAnswer, SessionOptions } from '../../src/index.ts'
import { flush } from '../twin/clock.ts'
import { createWorld, verdictOf, type ToolSketch } from '../twin/world.ts'

const call = { id: 'c', name: 'echo', arguments: {} }
const guard = (id: string, post: Guard['post'] & {}): Guard => ({ id, post })

async function called(guards: SessionOptions['guards'] & {}, tool: ToolSketch = {}, config = {}) {
  const world = createWorld({ extensions: [{ tools: { echo: { execute: () => ({ secret: 'x' }), ...tool } } }], config })
  const session = await world.host.openSession({ mode: 'yolo', guards })
  return { world, session, outcome: await session.call(call) }
}

describe('a guard after the call', () => {
  test('withholds the result, which the tool has made all the same', async () => {
    const { world, outcome } = await called([guard('dlp', () => ({ action: 'deny', reason: 'it holds a secret' }))])
    expect(outcome).toMatchObject({
      type: 'error', error: { code: 'GuardDenied', data: { source: 'guard dlp' } }, error_text: expect.stringContaining('it holds a secret'),
      metadata: { attempt: 1 },
    })
    expect(JSON.stringify(outcome)).not.toContain('secret":')
    expect(world.compartment().calls).toHaveLength(1)
    expect(world.eventsOf('ToolInvocationFailed')).toMatchObject([{ errorCode: 'GuardDenied' }])
  })

  test('is named where it gives no reason', async () => {
    const { outcome } = await called([guard('dlp', () => ({ action: 'deny' }) as never)])
    expect(outcome).toMatchObject({ error_text: expect.stringContaining('was withheld: the guard dlp gave no reason.') })
  })

  test('has failed where its answer cannot be read', async () => {
    const { outcome } = await called([guard('dlp', () => ({ get action(): never { throw new Error('gone') } }))])
    expect(outcome).toMatchObject({
      error: { code: 'GuardDenied' }, error_text: expect.stringContaining('was withheld: the guard dlp failed: gone.'),
    })
  })

  test('does not make free what the tool has used', async () => {
    const { session, outcome } = await called([guard('dlp', () => ({ action: 'deny', reason: 'no' }))], {
      execute: () => ({ success: true, output: 'x', tokens_used: 500 }),
    })
    expect(outcome).toMatchObject({ error: { code: 'GuardDenied' }, metadata: { tokens_used: 500 } })
    await session.close()
  })

  test('replaces the result completely, and that is reported', async () => {
    const full = { type: 'output', data: { secret: 'x' }, content: [{ type: 'text', text: 'x' }], details: { secret: 'x' }, completion: { terminal: true } }
    const { world, outcome } = await called([guard('dlp', () => ({ action: 'change', data: 'hidden', reason: 'secrets' }))], { execute: () => full })
    const { metadata: _, ...body } = outcome
    expect(body).toEqual({ type: 'output', data: 'hidden', completion: { terminal: true } })
    expect(world.eventsOf('ToolInvocationChanged')).toMatchObject([
      { subject: 'result', stage: 'guard', source: 'guard dlp', reason: 'secrets', before: expect.stringMatching(/^[0-9a-f]{64}$/) },
    ])
  })

  test('may put another text in place of an error', async () => {
    const { outcome } = await called(
      [guard('dlp', (__, { type }) => ({ action: 'change', data: `${type}: hidden`, reason: 'secrets' }))],
      { execute: () => ({ success: false, error: 'the password x is wrong' }) },
    )
    expect(outcome).toMatchObject({ type: 'error', error_text: 'error: hidden', error: { code: 'ToolExecutionFailed' } })
  })

  test('puts nothing but a text in place of an error', async () => {
    const { outcome } = await called(
      [guard('dlp', () => ({ action: 'change', data: { hidden: true }, reason: 'secrets' }))],
      { execute: () => ({ success: false, error: 'the password x is wrong' }) },
    )
    expect(outcome).toMatchObject({ error: { code: 'GuardDenied' }, error_text: expect.stringContaining('not a result') })
    expect(JSON.stringify(outcome)).not.toContain('password')
  })

  test.each<[string, Guard['post'] & {}]>([
    ['throws', () => { throw new Error('confused') }],
    ['rejects', async () => { throw new Error('confused') }],
    ['says something unknown', () => ({ action: 'ask', reason: 'hm' }) as unknown as ResultAnswer],
    ['says nothing that is anything', () => null as never],
    ['puts something there that is no JSON', () => ({ action: 'change', data: (() => 1) as never, reason: 'x' })],
  ])('denies when it %s', async (_, post) => {
    const { outcome } = await called([guard('broken', post)])
    expect(verdictOf(outcome)).toBe('GuardDenied')
    expect(JSON.stringify(outcome)).not.toContain('"secret"')
  })

  test('is not heard for what is not gated, or was never answered', async () => {
    let heard = 0
    const count = guard('count', () => { heard++ })
    await called([count], { gated: false, mode: 'read' })
    await called([count], { execute: () => { throw new Error('wrong') } })
    expect(heard).toBe(0)
  })

  test('that hangs does not keep a cancelled call', async () => {
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

  test('is that of their registration', async () => {
    const log: string[] = []
    await called(noting(log))
    expect(log).toEqual(['pre a', 'pre b', 'pre c', 'post a', 'post b', 'post c'])
  })

  test('is that of the configuration for those it names, and the others come after', async () => {
    const log: string[] = []
    await called(noting(log), {}, { guards: { pre: ['c', 'nobody', 'a'], post: ['b'] } })
    expect(log).toEqual(['pre c', 'pre a', 'pre b', 'post b', 'post a', 'post c'])
  })

  test('leaves the last word to the session above', async () => {
    const log: string[] = []
    const world = createWorld()
    const session = await world.host.openSession({ mode: 'yolo', guards: noting(log).slice(0, 1) })
    const subagent = await session.openSubagent({ mode: 'yolo', guards: noting(log).slice(1, 2) })
    await subagent.call(call)
    expect(log).toEqual(['pre a', 'pre b', 'post b', 'post a'])
  })
})
