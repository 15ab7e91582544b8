import { expect, test } from 'vitest'
import { ManualClock } from '../twin/clock.ts'
import { ScriptedInteractor } from '../twin/people.ts'
import { agreeable, createWorld, type ToolSketch } from '../twin/world.ts'

/** A tool that acts is not attempted again when it fails, which takes seconds. */
const ONCE = { requires: { net: { hosts: ['example.com'] } } }

test('counts outcomes and durations of the calls of each tool', async () => {
  const { host } = createWorld({
    extensions: [{ tools: { good: {}, bad: { execute: () => { throw new Error('no') }, ...ONCE } } }],
    config: { roles: { allow_bad: true } },
  })
  const session = await host.openSession(agreeable)
  for (const [index, name] of ['good', 'good', 'bad', 'nowhere'].entries()) {
    await session.call({ id: `c${index}`, name, arguments: {} })
  }
  await session.call({ id: 'x', name: 'good', arguments: 'no object' })
  const metrics = new Map(host.metrics().map((tool) => [tool.tool, tool]))
  expect([...metrics.keys()].toSorted()).toEqual(['bad', 'good'])
  expect(metrics.get('good')).toMatchObject({
    extension: 'sample', layer: 'global', succeeded: 2, failed: 0, cancelled: 1, durationMs: { count: 2 },
  })
  expect(metrics.get('good')!.byCode).toEqual(new Map([['InputInvalid', 1]]))
  expect(metrics.get('bad')).toMatchObject({ succeeded: 0, failed: 1, durationMs: { count: 1 } })
  expect(metrics.get('bad')!.byCode).toEqual(new Map([['ToolExecutionFailed', 1]]))
})

test('the duration of a tool excludes the time of people', async () => {
  const clock = new ManualClock()
  const asks: ToolSketch = {
    requires: { capabilities: ['interact'] },
    execute: async (_, { services, callId, signal }) =>
      (await services.interact!(callId, { kind: 'Ask', prompt: '?' }, signal)).status,
  }
  const { host } = createWorld({ clock, extensions: [{ tools: { asks } }] })
  const interactor = new ScriptedInteractor(async ({ request }) => {
    await clock.advance(60_000)
    return { status: 'accepted', value: request.kind === 'Approve' ? 'once' : 'Oslo' }
  })
  const outcome = await (await host.openSession({ interactor })).call({ id: 'c', name: 'asks', arguments: {} })
  expect(outcome).toMatchObject({ data: 'accepted', metadata: { duration_ms: 120_000 } })
  expect(host.metrics()).toMatchObject([{ tool: 'asks', durationMs: { count: 1, max: 0 } }])
})
