import { describe, expect, test } from 'vitest'
import { CancelScope } from '../../src/model/cancel-scope.ts'
import { HostTurn } from '../../src/sessions/turn.ts'
import { flush } from '../twin/clock.ts'
import { createWorld, verdictOf } from '../twin/world.ts'

const HANGING = { extensions: [{ tools: { echo: { execute: () => new Promise(() => {}) } } }] }
const echo = (id: string) => ({ id, name: 'echo', arguments: {} })

test('turns are numbered, reported and sequential', async () => {
  const world = createWorld()
  const session = await world.host.openSession({ mode: 'yolo' })
  expect(session.beginTurn().number).toBe(1)
  expect(() => session.beginTurn()).toThrowError(expect.objectContaining({ code: 'TurnInvalid' }))
  await session.endTurn()
  await expect(session.endTurn()).rejects.toMatchObject({ code: 'TurnInvalid' })
  expect(session.beginTurn().number).toBe(2)
  await session.close()
  const turns = world.events.flatMap((event) => 'turn' in event ? [`${event.type} ${event.turn}`] : [])
  expect(turns).toEqual(['TurnBegan 1', 'TurnEnded 1', 'TurnBegan 2', 'TurnEnded 2'])
  expect(() => session.beginTurn()).toThrowError(expect.objectContaining({ code: 'SessionCancelled' }))
})

test('a turn ends after its calls, and accepts no more while it ends', async () => {
  const gate = Promise.withResolvers<string>()
  const world = createWorld({ extensions: [{ tools: { echo: { execute: () => gate.promise } } }] })
  const session = await world.host.openSession({ mode: 'yolo' })
  session.beginTurn()
  const running = session.call(echo('a'))
  await flush()
  const ended = session.endTurn()
  expect(verdictOf(await session.call(echo('b')))).toBe('TurnCancelled')
  expect(world.eventsOf('TurnEnded')).toEqual([])
  gate.resolve('done')
  await ended
  expect(await running).toMatchObject({ data: 'done' })
  expect(world.eventsOf('TurnEnded')).toHaveLength(1)
})

test('a turn that ends closes its sub-agents, also new ones, and keeps no closed one', async () => {
  const turn = new HostTurn({
    number: 1, scope: new CancelScope(), offered: undefined as never, tools: () => [], signal: undefined, results: [],
  })
  const closed: string[] = []
  const subagent = (name: string, then = () => {}) => {
    const it = { close: async () => { closed.push(name); turn.disowns(it); then() } }
    turn.owns(it)
    return it
  }
  turn.disowns(subagent('earlier'))
  subagent('first', () => subagent('meanwhile'))
  await turn.end()
  expect(closed).toEqual(['first', 'meanwhile'])
})

describe('cancellation: session > turn > call', () => {
  test('a turn cancels its present and later calls, and the session continues', async () => {
    const { host } = createWorld(HANGING)
    const session = await host.openSession({ mode: 'yolo' })
    const outside = session.call(echo('outside'))
    const turn = session.beginTurn()
    const inside = [session.call(echo('a')), session.callAll([echo('b'), echo('c')])]
    await flush()
    turn.cancel('cap')
    const error = { code: 'TurnCancelled', data: { reason: 'cap' } }
    expect(await inside[0]).toMatchObject({ error, completion: { terminal: true } })
    expect(await inside[1]).toMatchObject([{ error }, { error }])
    expect(verdictOf(await session.call(echo('late')))).toBe('TurnCancelled')
    await session.endTurn()
    session.cancel()
    expect(await outside).toMatchObject({ error: { code: 'SessionCancelled', data: { reason: 'user' } } })
  })

  test('a cancelled call cancels nothing else', async () => {
    const { host } = createWorld(HANGING)
    const session = await host.openSession({ mode: 'yolo' })
    const turn = session.beginTurn()
    const cancel = new AbortController()
    const one = session.call(echo('a'), { signal: cancel.signal })
    const other = session.call(echo('b'))
    await flush()
    cancel.abort()
    expect(await one).toMatchObject({ error: { code: 'ToolCancelled', data: { reason: 'user' } } })
    expect(turn.signal.aborted).toBe(false)
    turn.cancel()
    expect(verdictOf(await other)).toBe('TurnCancelled')
  })

  test('a session cancels its turn; a turn begun with a signal ends with it', async () => {
    const { host } = createWorld(HANGING)
    const session = await host.openSession({ mode: 'yolo' })
    const cancel = new AbortController()
    const turn = session.beginTurn({ signal: cancel.signal })
    const call = session.call(echo('a'))
    cancel.abort(new Error('stop'))
    expect(verdictOf(await call)).toBe('TurnCancelled')
    await session.endTurn()
    const next = session.beginTurn()
    session.cancel('user')
    expect(turn.signal.reason).toMatchObject({ code: 'TurnCancelled' })
    expect(next.signal.reason).toMatchObject({ code: 'SessionCancelled' })
  })

  test('the signal of a response cancels all its calls', async () => {
    const { host } = createWorld(HANGING)
    const session = await host.openSession({ mode: 'yolo' })
    const cancel = new AbortController()
    const outcomes = session.callAll([echo('a'), echo('b')], { strategy: 'sequential', signal: cancel.signal })
    await flush()
    cancel.abort()
    expect((await outcomes).map(verdictOf)).toEqual(['ToolCancelled', 'ToolCancelled'])
  })
})
