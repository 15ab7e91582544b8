import type { ToolDefinition } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { listedTool } from '../../../src/mcp/serving/tool-server.ts'

const base: ToolDefinition = {
  name: 'forecast', label: 'Forecast', description: 'Tells the weather.', inputSchema: { properties: { city: { type: 'string' } } },
  requires: {}, mode: 'read', kind: 'other', gated: false, idempotent: false, executor: 'local',
}

it('has the name, words and schemas of the tool, and arguments that are an object', () => {
  const outputSchema = { type: 'object' }
  expect(listedTool({ ...base, outputSchema })).toEqual({
    name: 'forecast', title: 'Forecast', description: 'Tells the weather.', outputSchema,
    inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
    annotations: { title: 'Forecast', readOnlyHint: true, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  })
})

/** read-only, destructive, open world */
it.each<[string, Partial<ToolDefinition>, readonly boolean[]]>([
  ['looks', { requires: { fs: { read: ['{workspace}/**'] } } }, [true, false, false]],
  ['says it looks, and may write', { requires: { fs: { write: ['{workspace}/**'] } } }, [false, true, false]],
  ['says it looks, and may reach others', { requires: { net: { hosts: ['*'] } } }, [false, true, true]],
  ['says it looks, and may run', { requires: { shell: [{ cmd: 'ls' }] } }, [false, true, true]],
  ['says it looks, and is elsewhere', { executor: 'remote' }, [false, false, true]],
  ['changes what is its own', { mode: 'safe_write' }, [false, false, false]],
  ['writes files', { mode: 'safe_write', requires: { fs: { write: ['{workspace}/**'] } } }, [false, true, false]],
  ['cannot be undone', { mode: 'destructive' }, [false, true, false]],
  ['acts on the machine', { mode: 'local' }, [false, true, true]],
  ['uses services of others', { mode: 'external' }, [false, false, true]],
])('a tool that %s is listed as such', (_, more, expected) => {
  const { readOnlyHint, destructiveHint, openWorldHint } = listedTool({ ...base, ...more }).annotations!
  expect([readOnlyHint, destructiveHint, openWorldHint]).toEqual(expected)
})

it('can be called again where the tool says so', () => {
  expect(listedTool({ ...base, idempotent: true }).annotations).toMatchObject({ idempotentHint: true })
})
