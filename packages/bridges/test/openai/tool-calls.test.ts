import type { Outcome, ToolDefinition } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { fromToolCall, toToolMessage } from '../../src/openai/index.ts'

const call = (args: string) => ({ id: 'c1', type: 'function' as const, function: { name: 'forecast', arguments: args } })
const metadata: Outcome['metadata'] = { call_id: 'c1', tool: 'forecast', origin: null, duration_ms: 1, attempt: 1 }

describe('calls of a model', () => {
  it.each([
    ['an object', '{"city":"Oslo"}', { city: 'Oslo' }],
    ['nothing', '', {}],
    ['a list, which the host refuses', '[1]', [1]],
    ['no JSON at all, which the host refuses', '{"city":', '{"city":'],
    ['a poisoned key, which the host refuses', '{"__proto__":{"x":1}}', '{"__proto__":{"x":1}}'],
    ['a null, kept', '{"city":null}', { city: null }],
  ])('with %s', (_, text, args) => {
    expect(fromToolCall(call(text))).toEqual({ id: 'c1', name: 'forecast', arguments: args })
  })

  it('takes null for absent where the tool was strict', () => {
    expect(fromToolCall(call('{"city":"Oslo","days":null}'), { strict: true }).arguments).toEqual({ city: 'Oslo' })
  })
})

it('a model that words a call as another agent taught it is understood where the tools are known', () => {
  const read = toolOf('read', { path: { type: 'string' } })
  const taught = { id: 'c1', type: 'function' as const, function: { name: 'read_file', arguments: '{"file_path":"a","limit":null}' } }
  expect(fromToolCall(taught, { tools: [read] })).toEqual({ id: 'c1', name: 'read', arguments: { path: 'a', limit: null } })
  expect(fromToolCall(taught, { tools: [read], strict: true }).arguments).toEqual({ path: 'a' })
  expect(fromToolCall(taught)).toEqual({ id: 'c1', name: 'read_file', arguments: { file_path: 'a', limit: null } })
  expect(fromToolCall(taught, { tools: [read, toolOf('read_file', {})] }).name).toBe('read_file')
})

const toolOf = (name: string, properties: JsonObject): ToolDefinition => ({
  name, label: name, description: name, requires: {}, mode: 'read', kind: 'read', gated: false, idempotent: true, executor: 'local',
  inputSchema: { type: 'object', properties },
})

describe('results for a model', () => {
  const content = (outcome: Outcome) => toToolMessage(outcome).content

  it('answers the very call', () => {
    expect(toToolMessage({ type: 'output', data: 'sunny', metadata })).toEqual({ role: 'tool', tool_call_id: 'c1', content: 'sunny' })
  })

  it('says what was cut, and where the whole is', () => {
    expect(content({ type: 'output', data: 'sun', metadata: { ...metadata, truncated: true, output_path: '/whole.txt' } }))
      .toBe('sun\n[The result was too long and is cut here. The whole is in /whole.txt]')
  })

  it('shows content before data, data as JSON, errors as text', () => {
    expect(content({ type: 'output', data: { t: 3 }, metadata })).toBe('{"t":3}')
    expect(content({ type: 'output', data: { t: 3 }, content: [{ type: 'text', text: 'three' }], metadata })).toBe('three')
    expect(content({ type: 'output', data: 4, content: [{ type: 'image', data: '', mimeType: 'image/png' }], metadata })).toBe('4')
    expect(content({ type: 'error', error_text: 'no such city', error: { code: 'NotFound', class: 'ToolTerminal', retryable: false }, metadata })).toBe('no such city')
  })
})
