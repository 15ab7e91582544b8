import type { Outcome } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { fromToolUse, toToolResult } from '../../src/anthropic/index.ts'
import { hostCallId, modelCallId } from '../../src/models/call-ids.ts'
import { fromToolCall, toToolMessage } from '../../src/openai/index.ts'

const outcomeOf = (id: string): Outcome => ({
  type: 'output', data: 'done', metadata: { call_id: id, tool: 'read', origin: null, duration_ms: 1, attempt: 1 },
})

test('a repeated id is unique for the host, and the answer has the id of the model', () => {
  const sent = { id: 'call_0', type: 'function' as const, function: { name: 'read', arguments: '{}' } }
  const ids = [1, 2, 3].map(() => fromToolCall(sent).id)
  expect(ids[0]).toBe('call_0')
  expect(new Set(ids).size).toBe(3)
  expect(ids.map((id) => toToolMessage(outcomeOf(id)).tool_call_id)).toEqual(['call_0', 'call_0', 'call_0'])
})

test('a repeated id is unique in the other formats too', () => {
  const used = [1, 2].map(() => fromToolUse({ type: 'tool_use', id: 'toolu_0', name: 'read', input: {} }).id)
  expect(new Set(used).size).toBe(2)
  expect(used.map((id) => toToolResult(outcomeOf(id)).tool_use_id)).toEqual(['toolu_0', 'toolu_0'])
})

test('an id that looks like one of ours comes back as the model wrote it', () => {
  const id = 'call~0123456789ab'
  expect(modelCallId(hostCallId(id))).toBe(id)
  expect(modelCallId(hostCallId(id))).toBe(id)
  expect(hostCallId('')).toBe('')
})

test('100 000 ids are known, the latest ones', LONG, () => {
  for (let index = 0; index <= 100_000; index++) hostCallId(`many_${index}`)
  expect([modelCallId(hostCallId('many_1')), hostCallId('many_0')]).toEqual(['many_1', 'many_0'])
})
