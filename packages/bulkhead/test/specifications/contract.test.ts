import { expect, it } from 'vitest'
import { createTestHost } from '../../src/testing/index.ts'
import '../../src/testing/vitest.ts'
import { CACHE } from '../cache.ts'

it('a result that breaks its output schema is delivered as it is', async () => {
  const output = { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] }
  await using host = await createTestHost({ cache: CACHE, tools: { odd: { output, execute: () => 'no object' } } })
  const session = await host.openSession()
  expect(await session.call({ id: 'c', name: 'odd', arguments: {} })).toSucceedWith('no object')
})
