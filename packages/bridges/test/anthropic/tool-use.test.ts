import type { Outcome, ToolDefinition } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { fromToolUse, toMessagesTools, toToolResult } from '../../src/anthropic.ts'

const metadata: Outcome['metadata'] = { call_id: 'c1', tool: 'forecast', origin: null, duration_ms: 1, attempt: 1 }
const forecast: ToolDefinition = {
  name: 'forecast', label: 'Forecast', description: 'Tells the weather.', requires: {}, mode: 'external', kind: 'fetch',
  gated: true, idempotent: true,
  executor: 'local', inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

it('converts name, description and schema of a tool', () => {
  expect(toMessagesTools([forecast])).toEqual([
    { name: 'forecast', description: 'Tells the weather.', input_schema: forecast.inputSchema },
  ])
})

it('passes arguments on unchanged, even invalid ones', () => {
  expect(fromToolUse({ type: 'tool_use', id: 'c1', name: 'forecast', input: { city: 'Oslo' } })).toEqual({
    id: 'c1', name: 'forecast', arguments: { city: 'Oslo' },
  })
  expect(fromToolUse({ type: 'tool_use', id: 'c1', name: 'forecast', input: 'Oslo' }).arguments).toBe('Oslo')
})

it('translates calls in the notation of other agents if the tools are given', () => {
  const fetched: ToolDefinition = { ...forecast, name: 'weather_forecast' }
  const block = { type: 'tool_use', id: 'c1', name: 'mcp:weather.forecast', input: { city: 'Oslo' } } as const
  expect(fromToolUse(block, { tools: [fetched] })).toEqual({
    id: 'c1', name: 'weather_forecast', arguments: { city: 'Oslo' },
  })
  expect(fromToolUse(block).name).toBe('mcp:weather.forecast')
})

it('converts a result: content before data, data as JSON, images as images', () => {
  expect(toToolResult({ type: 'output', data: 'sunny', metadata })).toEqual({
    type: 'tool_result', tool_use_id: 'c1', content: 'sunny',
  })
  expect(toToolResult({ type: 'output', data: { t: 3 }, metadata }).content).toBe('{"t":3}')
  expect(toToolResult({
    type: 'output', data: 4,
    content: [{ type: 'text', text: 'a map' }, { type: 'image', data: 'AAAA', mimeType: 'image/png' }], metadata,
  }).content).toEqual([
    { type: 'text', text: 'a map' },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
  ])
})

it('marks an error', () => {
  expect(toToolResult({ type: 'error', error_text: 'no such city', error: { code: 'NotFound', class: 'ToolTerminal', retryable: false }, metadata }))
    .toEqual({ type: 'tool_result', tool_use_id: 'c1', content: 'no such city', is_error: true })
})

it('adds a note to a truncated result, with the path of the full result', () => {
  const cut = { ...metadata, truncated: true } as const
  const note = '[The result was too long and is cut here.]'
  expect(toToolResult({ type: 'output', data: 'sun', metadata: cut }).content).toBe(`sun\n${note}`)
  expect(toToolResult({ type: 'output', data: 1, content: [{ type: 'text', text: 'sun' }], metadata: { ...cut, output_path: '/whole.txt' } }).content)
    .toEqual([
      { type: 'text', text: 'sun' },
      { type: 'text', text: '[The result was too long and is cut here. The whole is in /whole.txt]' },
    ])
})

it('returns schemas that an SDK may change', () => {
  const city = Object.freeze({ type: 'string' })
  const [tool] = toMessagesTools([{ name: 'forecast', description: 'f', inputSchema: Object.freeze({ type: 'object', properties: Object.freeze({ city }) }) } as never])
  Object.assign((tool!.input_schema['properties'] as { city: object }).city, { type: 'number' })
  expect(city).toEqual({ type: 'string' })
})
