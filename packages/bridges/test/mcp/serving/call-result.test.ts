import type { Outcome } from '@bulkhead/contract'
import { isSpecType } from '@modelcontextprotocol/server'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { anyOutcome } from '../../../../contract/test/samples/outcomes.ts'
import { callResult } from '../../../src/mcp/serving/tool-server.ts'

const metadata = { call_id: 'c', tool: 't', origin: null, duration_ms: 1, attempt: 1 }
const cut = { ...metadata, truncated: true, output_path: '/results/c.txt' }
const note = (text: string) => ({ type: 'text', text: `[The result was too long and is cut here${text}` })

it('has structured content if the tool declares an output schema', () => {
  const list: Outcome = { type: 'output', data: [1], metadata }
  expect(callResult(list, undefined)).toEqual({ content: [{ type: 'text', text: '[1]' }] })
  expect(callResult(list, { type: 'array' })).toEqual({
    content: [{ type: 'text', text: '[1]' }], structuredContent: [1],
  })
})

it('has a note if it is truncated, with the path of the full result', () => {
  expect(callResult({ type: 'output', data: 'head', metadata: cut }, undefined).content)
    .toEqual([{ type: 'text', text: 'head' }, note('. The whole is in /results/c.txt]')])
  expect(
    callResult({ type: 'output', data: 'head', metadata: { ...metadata, truncated: true } }, undefined).content.at(-1),
  ).toEqual(note('.]'))
})

it('is an error if a truncated result lacks required members', () => {
  const outcome: Outcome = { type: 'output', data: { a: 1 }, metadata: cut }
  const schema = (...required: readonly string[]) => ({ type: 'object', required })
  expect(callResult(outcome, schema('a'))).toMatchObject({ structuredContent: { a: 1 } })
  expect(callResult(outcome, { type: 'object' })).not.toHaveProperty('isError')
  expect(callResult(outcome, schema('a', 'b'))).toEqual({
    content: [{ type: 'text', text: '{"a":1}' }, note(', and lacks required members. The whole is in /results/c.txt]')],
    isError: true,
  })
})

it('is valid MCP for any outcome, with every kind of block', () => {
  fc.assert(fc.property(anyOutcome, (outcome) => {
    expect(isSpecType.CallToolResult(callResult(outcome, undefined))).toBe(true)
  }))
})
