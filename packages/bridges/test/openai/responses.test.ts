import type { Outcome, ToolDefinition } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import * as deepseek from '../../src/deepseek.ts'
import { fromResponseItems, reportTools, toFunctionCallOutput, toResponseTools } from '../../src/openai/index.ts'

const text = { type: 'string' }
const toolOf = (name: string, inputSchema: object, executor: 'local' | 'remote' = 'local'): ToolDefinition => ({
  name, label: name, description: name, requires: {}, mode: 'read', kind: 'read', gated: false,
  idempotent: true, effects: 'idempotent',
  executor,
  inputSchema: inputSchema as ToolDefinition['inputSchema'],
})
const item = {
  type: 'object', properties: { label: text, note: text }, required: ['label'],
  additionalProperties: false,
}
const list = toolOf('list', {
  type: 'object', properties: { items: { type: 'array', items: item, maxItems: 3 } }, required: ['items'],
  additionalProperties: false,
})
const open = toolOf('open', { type: 'object', additionalProperties: true })
const remote = toolOf('files.read', list.inputSchema, 'remote')
/** Repeated ids have a suffix. */
const C1 = expect.stringMatching(/^c1(?:~|$)/)
const metadata: Outcome['metadata'] = { call_id: 'c1', tool: 'list', origin: null, duration_ms: 1, attempt: 1 }

it('says whether each tool is strict', () => {
  expect(toResponseTools([list, open, remote], { strict: true }).map(({ name, strict }) => [name, strict]))
    .toEqual([['list', true], ['open', false], ['files_read', false]])
  expect(toResponseTools([list])[0]).toEqual({
    type: 'function', name: 'list', description: 'list', parameters: list.inputSchema, strict: false,
  })
})

it('sends the schema of results, as a copy', () => {
  const outputSchema = { type: 'object', properties: { labels: { type: 'array', items: text } }, required: ['labels'] }
  const [sent] = toResponseTools([{ ...list, outputSchema }], { strict: true })
  expect(sent!.output_schema).toEqual(outputSchema)
  expect(sent!.output_schema).not.toBe(outputSchema)
  expect(toResponseTools([list])[0]).not.toHaveProperty('output_schema')
})

it('reports why a tool is not strict, and what is lost', () => {
  expect(reportTools([list, open, remote])).toEqual([
    { tool: 'list', name: 'list', strict: true, losses: [] },
    { tool: 'open', name: 'open', strict: false, losses: [], reason: 'the root accepts members of any name' },
    { tool: 'files.read', name: 'files_read', strict: false, losses: [], reason: 'the tool is remote' },
  ])
  expect(deepseek.reportTools([list])[0]).toMatchObject({
    strict: true, losses: [{ pointer: '/properties/items/maxItems', message: 'is described, not enforced' }],
  })
})

it('reads the calls of a response, and removes nulls as the schema says', () => {
  const nulls = '{"items":[{"label":"a","note":null}]}'
  const called = (name: string, args = nulls) =>
    ({ type: 'function_call', call_id: 'c1', name, arguments: args }) as const
  const options = { strict: true, tools: [list, open, remote] }
  expect(fromResponseItems([{ type: 'reasoning' }, called('list'), called('open'), called('files_read')], options))
    .toEqual([
      { id: C1, name: 'list', arguments: { items: [{ label: 'a' }] } },
      { id: C1, name: 'open', arguments: { items: [{ label: 'a', note: null }] } },
      { id: C1, name: 'files.read', arguments: { items: [{ label: 'a', note: null }] } },
    ])
  expect(
    fromResponseItems([called('list', '{'), { type: 'custom_tool_call', call_id: 'c2', name: 'x', input: 'y' }]),
  ).toEqual([
    { id: C1, name: 'list', arguments: '{' }, { id: expect.stringMatching(/^c2/), name: 'x', arguments: 'y' },
  ])
})

it('sends images and PDF files, and names other bytes', () => {
  expect(toFunctionCallOutput({ type: 'output', data: 'sunny', metadata }))
    .toEqual({ type: 'function_call_output', call_id: 'c1', output: 'sunny' })
  expect(toFunctionCallOutput({
    type: 'output', data: 1, metadata, content: [
      { type: 'text', text: 'a map' }, { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'resource', uri: 'file:///a.pdf', blob: 'AAAA', mimeType: 'application/pdf' },
      { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
    ],
  }).output).toEqual([
    { type: 'input_text', text: 'a map' },
    { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' },
    { type: 'input_file', file_data: 'data:application/pdf;base64,AAAA', filename: 'result.pdf' },
    { type: 'input_text', text: '[audio/wav, 3 bytes, not sent: the model API does not take it in a tool result]' },
  ])
})
