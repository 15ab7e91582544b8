import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { inShell } from '../../../bridges/test/mcp/connecting/setup.ts'
import { createTestHost } from '../../src/testing/index.ts'
import '../../src/testing/vitest.ts'
import { CACHE } from '../cache.ts'

it('a result that breaks its output schema is delivered as it is', async () => {
  const output = { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] }
  await using host = await createTestHost({ cache: CACHE, tools: { odd: { output, execute: () => 'no object' } } })
  const session = await host.openSession()
  expect(await session.call({ id: 'c', name: 'odd', arguments: {} })).toSucceedWith('no object')
})

it('the tools of a server share one process', async () => {
  await using host = await createTestHost({ cache: CACHE })
  const [notes, script] = [join(host.home, 'notes'), join(host.home, 'script.json')]
  const fixture = join(import.meta.dirname, '../../../bridges/test/mcp/connecting/fixtures/raw-server.js')
  const inputSchema = { type: 'object' }
  writeFileSync(script, JSON.stringify({ tools: ['one', 'two', 'three'].map((name) => ({ name, inputSchema })) }))
  writeFileSync(join(host.home, 'config.json'), JSON.stringify({
    mcp: {
      ship: inShell(`echo started >> '${notes}'; exec "$@"`, {
        type: 'local', command: [process.execPath, fixture, script], jail: false,
      }),
    },
  }))
  await host.reload()
  const session = await host.openSession({ mode: 'yolo' })
  const calls = ['one', 'two', 'three'].map((name) => ({ id: name, name: `ship_${name}`, arguments: {} }))
  // The fixture answers tools that it does not know with this error.
  const answered = { error_text: expect.stringContaining('it went wrong') as string }
  expect(await session.callAll(calls)).toMatchObject(calls.map(() => answered))
  expect(readFileSync(notes, 'utf8')).toBe('started\n')
})
