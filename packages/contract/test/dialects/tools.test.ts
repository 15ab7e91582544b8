import { expect, it } from 'vitest'
import { toGridaTool } from '../../src/dialects/grida.ts'
import { toMorphixTool } from '../../src/dialects/morphix.ts'
import { toPhiTool } from '../../src/dialects/phi.ts'
import { toStudTool } from '../../src/dialects/stud.ts'
import type { ToolDefinition } from '../../src/ports/embedder.ts'

const inputSchema = {
  type: 'object', properties: { path: { type: 'string' }, limit: { type: 'integer' } }, required: ['path'],
}
const tool: ToolDefinition = {
  name: 'read', label: 'Read', description: 'Reads a file.', inputSchema, requires: { fs: { read: ['{workspace}'] } },
  mode: 'read', kind: 'read', gated: false, idempotent: true, effects: 'none', executor: 'local',
}

it('is published with exactly the documented fields', () => {
  const { description, requires } = tool
  expect(toGridaTool(tool)).toStrictEqual({ id: 'read', description, parameters: inputSchema, requires })
  expect(toPhiTool(tool)).toStrictEqual({ name: 'read', label: 'Read', description, parameters_schema: inputSchema })
  expect(toMorphixTool(tool))
    .toStrictEqual({ name: 'read', description, parameters: inputSchema.properties, required: ['path'] })
  const stud = { kind: 'Tool', contractVersion: '1.0.0', name: 'read', inputSchema, executor: 'local', gated: false }
  expect(toStudTool(tool)).toStrictEqual(stud)
  expect(toStudTool({ ...tool, outputSchema: { type: 'string' } }))
    .toStrictEqual({ ...stud, outputSchema: { type: 'string' } })
})

it('has no parameters in morphix if its schema lists none', () => {
  for (const schema of [{ type: 'object' }, { properties: [1], required: 'x' }]) {
    expect(toMorphixTool({ ...tool, inputSchema: schema })).toMatchObject({ parameters: {}, required: [] })
  }
})
