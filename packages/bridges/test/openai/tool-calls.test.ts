import type { Outcome, ToolDefinition } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { fromToolCall, toToolMessage } from '../../src/openai/index.ts'

const call = (args: string) =>
  ({ id: 'c1', type: 'function' as const, function: { name: 'forecast', arguments: args } })
/** Repeated ids have a suffix. */
const C1 = expect.stringMatching(/^c1(?:~|$)/)
const metadata: Outcome['metadata'] = { call_id: 'c1', tool: 'forecast', origin: null, duration_ms: 1, attempt: 1 }

describe('tool calls', () => {
  it.each([
    ['an object', '{"city":"Oslo"}', { city: 'Oslo' }],
    ['an empty string', '', {}],
    ['a list, which the host rejects', '[1]', [1]],
    ['invalid JSON, which the host rejects', '{"city":', '{"city":'],
    ['the key __proto__, which the host rejects', '{"__proto__":{"x":1}}', '{"__proto__":{"x":1}}'],
    ['null', '{"city":null}', { city: null }],
  ])('accepts %s', (_, text, args) => {
    expect(fromToolCall(call(text))).toEqual({ id: C1, name: 'forecast', arguments: args })
  })

  it('removes null arguments of a strict tool', () => {
    expect(fromToolCall(call('{"city":"Oslo","days":null}'), { strict: true }).arguments).toEqual({ city: 'Oslo' })
  })
})

it('translates calls in the notation of other agents if the tools are given', () => {
  const read = toolOf('read', { path: { type: 'string' } })
  const otherNotation = {
    id: 'c1', type: 'function' as const, function: { name: 'read_file', arguments: '{"file_path":"a","limit":null}' },
  }
  expect(fromToolCall(otherNotation, { tools: [read] })).toEqual({
    id: C1, name: 'read', arguments: { path: 'a', limit: null },
  })
  expect(fromToolCall(otherNotation, { tools: [read], strict: true }).arguments).toEqual({ path: 'a' })
  expect(fromToolCall(otherNotation))
    .toEqual({ id: C1, name: 'read_file', arguments: { file_path: 'a', limit: null } })
  expect(fromToolCall(otherNotation, { tools: [read, toolOf('read_file', {})] }).name).toBe('read_file')
})

const toolOf = (name: string, properties: JsonObject): ToolDefinition => ({
  name, label: name, description: name, requires: {}, mode: 'read', kind: 'read', gated: false,
  idempotent: true, effects: 'idempotent',
  executor: 'local',
  inputSchema: { type: 'object', properties },
})

describe('tool results', () => {
  const content = (outcome: Outcome) => toToolMessage(outcome).content

  it('have the id of the call', () => {
    expect(toToolMessage({ type: 'output', data: 'sunny', metadata })).toEqual({
      role: 'tool', tool_call_id: 'c1', content: 'sunny',
    })
  })

  it('have a note if they are truncated, with the path of the full result', () => {
    expect(
      content({ type: 'output', data: 'sun', metadata: { ...metadata, truncated: true, output_path: '/whole.txt' } }),
    )
      .toBe('sun\n[The result was too long and is cut here. The whole is in /whole.txt]')
  })

  it('prefer content to data, and write data as JSON and errors as text', () => {
    expect(content({ type: 'output', data: { t: 3 }, metadata })).toBe('{"t":3}')
    expect(content({ type: 'output', data: { t: 3 }, content: [{ type: 'text', text: 'three' }], metadata })).toBe(
      'three',
    )
    expect(
      content({ type: 'output', data: 4, content: [{ type: 'image', data: '', mimeType: 'image/png' }], metadata }),
    ).toBe('4\n[image/png, 0 bytes, not sent: the model API does not take it in a tool result]')
    expect(
      content({
        type: 'error', error_text: 'no such city', error: { code: 'NotFound', class: 'ToolTerminal', retryable: false },
        metadata,
      }),
    ).toBe('no such city')
  })
})
