import type { Outcome } from '@bulkhead/contract'
import { toPhi, toPhiEvents } from '@bulkhead/contract/dialects'
import { describe, expect, test } from 'vitest'
import type { ExecutionStrategy, Steering } from '../../src/index.ts'
import { flush } from '../twin/clock.ts'
import { createWorld, verdictOf } from '../twin/world.ts'

const calls = (...names: readonly string[]) => names.map((n) => ({ id: `id-${n}`, name: 'echo', arguments: { n } }))
/** A tool whose calls end when the test says so. */
function gated() {
  const running = new Map<string, PromiseWithResolvers<string>>()
  const begun: string[] = []
  const world = createWorld({
    extensions: [{
      tools: {
        echo: {
          execute: async (args) => {
            const name = String(args['n'])
            begun.push(name)
            const gate = Promise.withResolvers<string>()
            running.set(name, gate)
            return gate.promise
          },
        },
      },
    }],
  })
  const end = async (name: string) => {
    running.get(name)!.resolve(`answer ${name}`)
    await flush()
  }
  return { world, begun, end }
}
const dataOf = (outcomes: readonly Outcome[]) =>
  outcomes.map((outcome) => outcome.type === 'output' ? outcome.data : verdictOf(outcome))

async function started(strategy: ExecutionStrategy | undefined, names: readonly string[], steering?: Steering) {
  const { world, begun, end } = gated()
  const session = await world.host.openSession({ mode: 'yolo' })
  const outcomes = session.callAll(calls(...names), {
    ...(strategy ? { strategy } : {}), ...(steering ? { steering } : {}),
  })
  await flush()
  return { world, session, begun, end, outcomes }
}

describe('phi: strategies', () => {
  test('parallel is the default: all start at once, and results keep the order of the calls', async () => {
    const { begun, end, outcomes } = await started(undefined, ['a', 'b', 'c'])
    expect(begun).toEqual(['a', 'b', 'c'])
    for (const name of ['c', 'a', 'b']) await end(name)
    expect(dataOf(await outcomes)).toEqual(['answer a', 'answer b', 'answer c'])
  })

  test('sequential starts a call when the previous one has ended', async () => {
    const { begun, end, outcomes } = await started('sequential', ['a', 'b', 'c'])
    expect(begun).toEqual(['a'])
    await end('a')
    expect(begun).toEqual(['a', 'b'])
    await end('b')
    await end('c')
    expect(dataOf(await outcomes)).toEqual(['answer a', 'answer b', 'answer c'])
  })

  test('batched starts a batch when the previous one has ended', async () => {
    const { begun, end, outcomes } = await started({ batched: 2 }, ['a', 'b', 'c', 'd', 'e'])
    expect(begun).toEqual(['a', 'b'])
    await end('b')
    expect(begun).toEqual(['a', 'b'])
    await end('a')
    expect(begun).toEqual(['a', 'b', 'c', 'd'])
    for (const name of ['d', 'c', 'e']) await end(name)
    expect(dataOf(await outcomes)).toEqual(['a', 'b', 'c', 'd', 'e'].map((name) => `answer ${name}`))
  })

  test('the strategy of a response overrides that of the session', async () => {
    const { world, begun, end } = gated()
    const session = await world.host.openSession({ mode: 'yolo', strategy: 'sequential' })
    const first = session.callAll(calls('a', 'b'))
    await flush()
    expect(begun).toEqual(['a'])
    await end('a')
    await end('b')
    await first
    const second = session.callAll(calls('c', 'd'), { strategy: 'parallel' })
    await flush()
    expect(begun).toEqual(['a', 'b', 'c', 'd'])
    await end('c')
    await end('d')
    await second
  })

  test.each<[string, unknown]>([
    ['an unknown word', 'eager'], ['no size', {}], ['a size of 0', { batched: 0 }], ['half a call', { batched: 1.5 }],
    ['nothing', null],
  ])('%s is not a strategy', async (_, strategy) => {
    const { host } = createWorld()
    const session = await host.openSession({ mode: 'yolo' })
    await expect(session.callAll(calls('a'), { strategy: strategy as never })).rejects.toMatchObject({
      code: 'InputInvalid',
    })
    await expect(host.openSession({ strategy: strategy as never })).rejects.toMatchObject({ code: 'InputInvalid' })
    await expect(session.callAll('a' as never)).rejects.toMatchObject({ code: 'InputInvalid' })
    expect(await session.callAll([])).toEqual([])
  })
})

describe('phi: steering', () => {
  /** Answers yes from the given question on. */
  const steerAt = (question: number) => {
    let asked = 0
    const steering = () => ++asked >= question
    return { steering, asked: () => asked }
  }

  test.each<[ExecutionStrategy, number]>([['sequential', 3], [{ batched: 2 }, 2], ['parallel', 1]])(
    '%o checks after each batch, the last one too', async (strategy, questions) => {
      const { steering, asked } = steerAt(Infinity)
      const { end, outcomes } = await started(strategy, ['a', 'b', 'c'], steering)
      for (const name of ['a', 'b', 'c']) await end(name)
      await outcomes
      expect(asked()).toBe(questions)
    },
  )

  test('sequential: calls that have not started are skipped, each with a result', async () => {
    const { begun, end, outcomes } = await started('sequential', ['a', 'b', 'c'], steerAt(1).steering)
    await end('a')
    expect(dataOf(await outcomes)).toEqual(['answer a', 'SkippedBySteering', 'SkippedBySteering'])
    expect(begun).toEqual(['a'])
  })

  test('batched: a batch that has started runs to its end', async () => {
    const { begun, end, outcomes } = await started({ batched: 2 }, ['a', 'b', 'c'], steerAt(1).steering)
    await end('a')
    await end('b')
    expect(dataOf(await outcomes)).toEqual(['answer a', 'answer b', 'SkippedBySteering'])
    expect(begun).toEqual(['a', 'b'])
  })

  test('parallel: all have started, so nothing is skipped', async () => {
    const { end, outcomes } = await started('parallel', ['a', 'b'], steerAt(1).steering)
    await end('a')
    await end('b')
    expect(dataOf(await outcomes)).toEqual(['answer a', 'answer b'])
  })

  test('a skipped call has the exact text that agent loops match, and the run continues', async () => {
    const { end, outcomes } = await started('sequential', ['a', 'b'], async () => true)
    await end('a')
    const skipped = (await outcomes)[1]!
    expect(skipped).toMatchObject({
      type: 'error', error_text: 'Skipped due to queued user message.', completion: { needsFollowup: true },
      metadata: { attempt: 0 },
    })
    expect(toPhi(skipped)).toEqual({ variant: 'Failed', message: 'Skipped due to queued user message.' })
  })

  test('a steering that fails skips the rest and is reported', async () => {
    const { world, end, outcomes } = await started('sequential', ['a', 'b'], () => { throw new Error('lost') })
    await end('a')
    expect(dataOf(await outcomes)).toEqual(['answer a', 'SkippedBySteering'])
    expect(world.eventsOf('SuppressedError')).toMatchObject([{ source: 'steering', message: 'lost' }])
  })

  test('a skipped call uses no budget', async () => {
    const { world, begun, end } = gated()
    const session = await world.host.openSession({ mode: 'yolo', budget: { calls: 2 } })
    const outcomes = session.callAll(calls('a', 'b', 'c'), { strategy: 'sequential', steering: () => true })
    await flush()
    await end('a')
    await outcomes
    const again = session.call(calls('d')[0]!)
    await flush()
    await end('d')
    expect(verdictOf(await again)).toBe('output')
    expect(begun).toEqual(['a', 'd'])
  })
})

describe('phi: events', () => {
  const ENDED = ['ToolExecutionEnd', 'MessageStart', 'MessageEnd']
  const phiEvents = (world: ReturnType<typeof createWorld>, callId: string) => world.events
    .filter((event) => 'callId' in event && event.callId === callId)
    .flatMap((event) => toPhiEvents(event).map(({ type }) => type))

  test('a call emits start, update and end', async () => {
    const world = createWorld({
      extensions: [
        {
          tools: {
            echo: {
              execute: (_, { update, progress }) => {
                update(1)
                progress('half')
                return 2
              },
            },
          },
        },
      ],
    })
    await (await world.host.openSession({ mode: 'yolo' })).callAll([{ id: 'a', name: 'echo', arguments: {} }])
    expect(phiEvents(world, 'a')).toEqual(['ToolExecutionStart', 'ToolExecutionUpdate', 'ProgressMessage', ...ENDED])
  })

  test('a call skipped by steering emits start and end', async () => {
    const { world, end, outcomes } = await started('sequential', ['a', 'b'], () => true)
    await end('a')
    await outcomes
    expect(phiEvents(world, 'id-b')).toEqual(['ToolExecutionStart', ...ENDED])
  })

  test('a call skipped by a before-hook emits neither start nor end, and has its own text', async () => {
    const world = createWorld()
    const session = await world.host.openSession({ mode: 'yolo', hooks: { beforeToolExecution: () => false } })
    const [outcome] = await session.callAll(calls('a'))
    expect(phiEvents(world, 'id-a')).toEqual(['MessageStart', 'MessageEnd'])
    expect(outcome).toMatchObject({
      type: 'error', error_text: 'Tool execution skipped by before_tool_execution hook.',
    })
  })

  test('hooks run around their events', async () => {
    const log: string[] = []
    const world = createWorld()
    world.host.on((event) => log.push(...toPhiEvents(event).map(({ type }) => type)))
    const session = await world.host.openSession({
      mode: 'yolo',
      hooks: { beforeToolExecution: () => { log.push('before') }, afterToolExecution: () => { log.push('after') } },
    })
    await session.callAll(calls('a'))
    expect(log).toEqual(['before', 'ToolExecutionStart', ...ENDED, 'after'])
  })
})
