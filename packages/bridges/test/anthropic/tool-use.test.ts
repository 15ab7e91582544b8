import type { Outcome, ToolDefinition } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import type {
  MessageParam, RawMessageStreamEvent, ToolResultBlockParam, ToolUnion, ToolUseBlock,
} from '@anthropic-ai/sdk/resources/messages'
import { fromToolUse, toMessagesTools, toToolResult, ToolUseStream } from '../../src/anthropic/index.ts'

/** Repeated ids have a suffix. */
const C1 = expect.stringMatching(/^c1(?:~|$)/)
const metadata: Outcome['metadata'] = { call_id: 'c1', tool: 'forecast', origin: null, duration_ms: 1, attempt: 1 }
const forecast: ToolDefinition = {
  name: 'forecast', label: 'Forecast', description: 'Tells the weather.', requires: {}, mode: 'external', kind: 'fetch',
  gated: true, idempotent: true, effects: 'idempotent',
  executor: 'local', inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

it('converts name, description and schema of a tool', () => {
  expect(toMessagesTools([forecast])).toEqual([
    { name: 'forecast', description: 'Tells the weather.', input_schema: forecast.inputSchema },
  ])
})

it('passes arguments on unchanged, even invalid ones', () => {
  expect(fromToolUse({ type: 'tool_use', id: 'c1', name: 'forecast', input: { city: 'Oslo' } })).toEqual({
    id: C1, name: 'forecast', arguments: { city: 'Oslo' },
  })
  expect(fromToolUse({ type: 'tool_use', id: 'c1', name: 'forecast', input: 'Oslo' }).arguments).toBe('Oslo')
})

it('translates calls in the notation of other agents if the tools are given', () => {
  const fetched: ToolDefinition = { ...forecast, name: 'weather_forecast' }
  const block = { type: 'tool_use', id: 'c1', name: 'mcp:weather.forecast', input: { city: 'Oslo' } } as const
  expect(fromToolUse(block, { tools: [fetched] })).toEqual({
    id: C1, name: 'weather_forecast', arguments: { city: 'Oslo' },
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
  expect(
    toToolResult({
      type: 'error', error_text: 'no such city', error: { code: 'NotFound', class: 'ToolTerminal', retryable: false },
      metadata,
    }),
  ).toEqual({ type: 'tool_result', tool_use_id: 'c1', content: 'no such city', is_error: true })
})

it('adds a note to a truncated result, with the path of the full result', () => {
  const cut = { ...metadata, truncated: true } as const
  const note = '[The result was too long and is cut here.]'
  expect(toToolResult({ type: 'output', data: 'sun', metadata: cut }).content).toBe(`sun\n${note}`)
  expect(
    toToolResult({
      type: 'output', data: 1, content: [{ type: 'text', text: 'sun' }],
      metadata: { ...cut, output_path: '/whole.txt' },
    }).content,
  ).toEqual([
    { type: 'text', text: 'sun' },
    { type: 'text', text: '[The result was too long and is cut here. The whole is in /whole.txt]' },
  ])
})

it('returns schemas that an SDK may change', () => {
  const city = Object.freeze({ type: 'string' })
  const [tool] = toMessagesTools([
    {
      name: 'forecast', description: 'f',
      inputSchema: Object.freeze({ type: 'object', properties: Object.freeze({ city }) }),
    } as never,
  ])
  Object.assign((tool!.input_schema['properties'] as { city: object }).city, { type: 'number' })
  expect(city).toEqual({ type: 'string' })
})

it('fits the types of the SDK: tools, calls and results', () => {
  const tools: ToolUnion[] = toMessagesTools([forecast], { strict: true })
  expect(tools).toMatchObject([{ strict: true, input_schema: { type: 'object', additionalProperties: false } }])
  const block: ToolUseBlock = { type: 'tool_use', id: 'c1', name: 'forecast', input: {}, caller: { type: 'direct' } }
  expect(fromToolUse(block).name).toBe('forecast')
  const result: ToolResultBlockParam = toToolResult({ type: 'output', data: 1, metadata })
  const message: MessageParam = { role: 'user', content: [result] }
  expect(message.content).toHaveLength(1)
})

it('sends PDF and text files as documents, and names other files', () => {
  const file = (mimeType: string, bytes: string) =>
    ({ type: 'resource', uri: 'file:///a', mimeType, blob: Buffer.from(bytes).toString('base64') }) as const
  expect(
    toToolResult({
      type: 'output', data: 4, metadata,
      content: [file('application/pdf', '%PDF'), file('text/plain', 'ü'), file('application/zip', 'PK')],
    }).content,
  ).toEqual([
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' } },
    { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'ü' } },
    { type: 'text', text: expect.stringMatching(/application\/zip.*not sent/) },
  ])
  const error = { code: 'NotFound', class: 'ToolTerminal', retryable: false } as const
  expect(
    toToolResult({ type: 'error', error_text: 'no', error, metadata, content: [file('application/pdf', '%PDF')] })
      .content,
  ).toMatch(/^no\n.*application\/pdf.*not sent/)
})

it('assembles the calls of a streamed message', () => {
  const stream = new ToolUseStream()
  const caller = { type: 'direct' } as const
  const events: RawMessageStreamEvent[] = [
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '', citations: null } },
    {
      type: 'content_block_start', index: 1,
      content_block: { type: 'tool_use', id: 'c1', name: 'forecast', input: {}, caller },
    },
    { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"city": "O' } },
    {
      type: 'content_block_start', index: 2,
      content_block: { type: 'server_tool_use', id: 's1', name: 'web_search', input: {}, caller },
    },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"query":1}' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: 'slo"}' } },
    { type: 'content_block_stop', index: 1 },
    {
      type: 'content_block_start', index: 3,
      content_block: { type: 'tool_use', id: 'c2', name: 'now', input: { utc: true }, caller },
    },
    {
      type: 'content_block_start', index: 4,
      content_block: { type: 'tool_use', id: 'c3', name: 'cut', input: {}, caller },
    },
    { type: 'content_block_delta', index: 4, delta: { type: 'input_json_delta', partial_json: '{"a":' } },
    { type: 'message_stop' },
  ]
  const seen = events.map((event) => stream.add(event))
  expect(seen[5]).toMatchObject({ id: 'c1', name: 'forecast', text: '{"city": "Oslo"}' })
  expect(seen[4]).toBeUndefined()
  expect(stream.calls().map((block) => fromToolUse(block))).toEqual([
    { id: C1, name: 'forecast', arguments: { city: 'Oslo' } },
    { id: expect.stringMatching(/^c2/), name: 'now', arguments: { utc: true } },
    { id: 'c3', name: 'cut', arguments: '{"a":' },
  ])
})
