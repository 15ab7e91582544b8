import { expect, test } from 'vitest'
import { agreeable, createWorld } from '../twin/world.ts'

test('counts what became of the calls of each tool, and how long they took', async () => {
  const { host } = createWorld({
    extensions: [{ tools: { good: {}, bad: { execute: () => { throw new Error('no') } } } }],
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
