import type { ToolDefinition } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { listedTool } from '../../../src/mcp/serving/tool-server.ts'

const base: ToolDefinition = {
  name: 'forecast', label: 'Forecast', description: 'Tells the weather.',
  inputSchema: { properties: { city: { type: 'string' } } },
  requires: {}, mode: 'read', kind: 'other', gated: false, idempotent: false, effects: 'once', executor: 'local',
}

it('has name, description and schemas of the tool, with object arguments', () => {
  const outputSchema = { type: 'object' }
  expect(listedTool({ ...base, outputSchema })).toEqual({
    name: 'forecast', title: 'Forecast', description: 'Tells the weather.', outputSchema,
    inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
    annotations: {
      title: 'Forecast', readOnlyHint: true, destructiveHint: false, idempotentHint: false, openWorldHint: false,
    },
  })
})

/** read-only, destructive, open world */
it.each<[string, Partial<ToolDefinition>, readonly boolean[]]>([
  ['reads', { requires: { fs: { read: ['{workspace}/**'] } } }, [true, false, false]],
  ['declares read mode but may write', { requires: { fs: { write: ['{workspace}/**'] } } }, [false, true, false]],
  ['declares read mode but may use the network', { requires: { net: { hosts: ['*'] } } }, [false, true, true]],
  ['declares read mode but may run commands', { requires: { shell: [{ cmd: 'ls' }] } }, [false, true, true]],
  ['declares read mode but is remote', { executor: 'remote' }, [false, false, true]],
  ['changes only its own data', { mode: 'safe_write' }, [false, false, false]],
  ['writes files', { mode: 'safe_write', requires: { fs: { write: ['{workspace}/**'] } } }, [false, true, false]],
  ['cannot be undone', { mode: 'destructive' }, [false, true, false]],
  ['acts on the machine', { mode: 'local' }, [false, true, true]],
  ['uses external services', { mode: 'external' }, [false, false, true]],
])('sets the hints of a tool that %s', (_, more, expected) => {
  const { readOnlyHint, destructiveHint, openWorldHint } = listedTool({ ...base, ...more }).annotations!
  expect([readOnlyHint, destructiveHint, openWorldHint]).toEqual(expected)
})

it('sets idempotentHint', () => {
  expect(listedTool({ ...base, idempotent: true }).annotations).toMatchObject({ idempotentHint: true })
})
