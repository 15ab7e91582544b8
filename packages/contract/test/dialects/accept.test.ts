import * as fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { acceptReturn, readReturn } from '../../src/dialects/accept.ts'
import { errorOf } from '../../src/dialects/reading.ts'
import type { Json } from '@bulkhead/kit/json'
import type { OutcomeBody } from '../../src/model/outcome.ts'
import { anyJson } from '../../../kit/test/samples/json.ts'
import { anyCode } from '../samples/outcomes.ts'

const failed = errorOf('ToolExecutionFailed')
const media = [
  { type: 'audio' as const, data: 'AA==', mimeType: 'audio/wav' },
  { type: 'resource' as const, uri: 'file:///a', text: 'inside' },
  { type: 'resource' as const, uri: 'file:///b', blob: 'AA==', mimeType: 'application/zip' },
  { type: 'resource_link' as const, uri: 'file:///c', name: 'c', title: 'C' },
]
const text = [{ type: 'text' as const, text: 'hi' }]

describe('a return value', () => {
  it.each<[string, Json | undefined, OutcomeBody]>([
    ['nothing', undefined, { type: 'output', data: null }],
    ['null', null, { type: 'output', data: null }],
    ['a text', 'ok', { type: 'output', data: 'ok' }],
    ['a list', [{ type: 'output', data: 1 }], { type: 'output', data: [{ type: 'output', data: 1 }] }],
    ['an object', { temperature: 4 }, { type: 'output', data: { temperature: 4 } }],
    ["grida's output", { type: 'output', data: 1, metadata: { duration_ms: 3 } }, { type: 'output', data: 1 }],
    ["grida's error", { type: 'error', error_text: 'no' }, { type: 'error', error_text: 'no', error: failed }],
    ['our own outcome', { type: 'output', data: 1, content: text, completion: { terminal: true } },
      { type: 'output', data: 1, content: text, completion: { terminal: true } }],
    ['our own outcome with files', { type: 'output', data: 1, content: media },
      { type: 'output', data: 1, content: media }],
    ["stud's value", { ok: true, value: { a: 1 } }, { type: 'output', data: { a: 1 } }],
    ["stud's error", {
      ok: false, error: { class: 'ToolTransient', code: 'ResourceBusy', context: { message: 'busy' } },
    },
      { type: 'error', error_text: 'busy', error: errorOf('ResourceBusy') }],
    ["phi's result", { content: text, details: { n: 1 }, child_loop_id: null },
      { type: 'output', data: 'hi', content: text, details: { n: 1 } }],
    [
      'an MCP result', { content: text, structuredContent: { n: 1 } },
      { type: 'output', data: { n: 1 }, content: text },
    ],
    [
      'an MCP error', { content: text, isError: true },
      { type: 'error', error_text: 'hi', error: failed, content: text },
    ],
    ["morphix's success", { success: true, output: [1], tool: 'x' }, { type: 'output', data: [1] }],
    ["morphix's failure", { success: false, error: 'tool_timeout', output: 'slow' },
      { type: 'error', error_text: 'slow', error: errorOf('ExecutionTimeout') }],
    ["steerable's success", { success: true, message: 'Created.', data: { id: 7 } },
      { type: 'output', data: { id: 7 }, completion: { message: 'Created.' } }],
    ["steerable's failure", { success: false, terminal: true, error: 'down' },
      { type: 'error', error_text: 'down', error: failed, completion: { terminal: true } }],
    ["phi's error", { variant: 'InvalidArgs', message: 'bad' },
      { type: 'error', error_text: 'Invalid arguments: bad', error: errorOf('InputInvalid') }],
    ["phi's cancellation", { variant: 'Cancelled' }, { type: 'error', error_text: 'Cancelled', error: failed }],
  ])('is read from %s', (_, value, body) => {
    expect(acceptReturn(value)).toStrictEqual(body)
  })

  it.each<[string, Json]>([
    ['another type', { type: 'file', data: 'x' }],
    ['a type of output beside other data', { type: 'output', channel: 3 }],
    ['ok that is a text', { ok: 'yes', value: 1 }],
    ['ok without a value', { ok: true }],
    ['ok with more than a value', { ok: true, value: 1, unit: 'C' }],
    ['content that is a text', { path: 'a', content: 'text' }],
    ['a resource with text and bytes', { type: 'output', data: 1, content: [{ ...media[1]!, blob: 'AA==' }] }],
    ['content of rows', { content: [{ id: 1 }] }],
    ['content beside other data', { content: text, author: 'me' }],
    ['success that is a number', { success: 1, output: 2 }],
    ['success that is a rate', { success: 0.9 }],
    ['success with data of another kind', { success: true, data: [1, 2] }],
    ['success beside other data', { success: true, count: 3 }],
    ['a failure beside other data', { success: false, reason: 'nothing matched' }],
    ['a variant of another kind', { variant: 'dark', message: 'x' }],
    ['a variant beside other data', { variant: 'Failed', message: 'x', size: 2 }],
  ])('stays data if it only has %s', (_, value) => {
    expect(acceptReturn(value)).toStrictEqual({ type: 'output', data: value })
  })

  it('that satisfies the outputSchema is data, in whatever form', () => {
    for (const value of [
      { success: true, count: 3 }, { success: false, error: 'x' }, { ok: true, value: 1 }, { content: text },
      { type: 'error', error_text: 'x' }, { variant: 'Failed', message: 'x' },
    ]) {
      for (const dialect of [undefined, 'steerable'] as const) {
        expect(acceptReturn(value, { dialect, satisfies: () => true })).toStrictEqual({ type: 'output', data: value })
      }
    }
  })

  it('that does not satisfy it is read in our own form and in the dialect of the tool only', () => {
    const satisfies = () => false
    const value = { success: true, count: 3 }
    expect(acceptReturn(value, { satisfies })).toStrictEqual({ type: 'output', data: value })
    expect(acceptReturn(value, { satisfies, dialect: 'stud' })).toStrictEqual({ type: 'output', data: value })
    expect(acceptReturn(value, { satisfies, dialect: 'steerable' })).toMatchObject({ data: { count: 3 } })
    expect(acceptReturn(value, { dialect: 'steerable' })).toMatchObject({ data: { count: 3 } })
    expect(acceptReturn({ type: 'output', data: 1 }, { satisfies })).toStrictEqual({ type: 'output', data: 1 })
    expect(acceptReturn({ ok: true, value: 1 }, { dialect: 'phi' })).toMatchObject({ data: { ok: true, value: 1 } })
  })

  it('without the mark of a form is not compared with the schema', () => {
    const satisfies = vi.fn<() => boolean>(() => false)
    for (const value of [7, null, 'x', [1], { a: 1 }, { ok: 'yes' }, { type: 'file' }]) readReturn(value, { satisfies })
    expect(satisfies).not.toHaveBeenCalled()
  })

  it('of any kind gives an outcome', () => {
    fc.assert(fc.property(anyJson, (value) => {
      expect(['output', 'error']).toContain(acceptReturn(value).type)
    }))
  })

  it('may have only error codes that a tool can know', () => {
    const own = new Set(['ToolExecutionFailed', 'NotFound', 'InputInvalid', 'ResourceBusy', 'ExecutionTimeout'])
    fc.assert(fc.property(anyCode, (code) => {
      const settled = errorOf(own.has(code) ? code : 'ToolExecutionFailed')
      expect(acceptReturn({ type: 'error', error_text: 'x', error: { code } }))
        .toStrictEqual({ type: 'error', error_text: 'x', error: settled })
    }))
    expect(acceptReturn({ ok: false, error: { class: 'Cancellation', code: 'SessionCancelled', context: {} } }))
      .toMatchObject({ error: failed })
    expect(acceptReturn({ success: false, error: 'approval_denied', output: 'no' })).toMatchObject({ error: failed })
    expect(acceptReturn({ content: [{ type: 'text', text: 'Cancelled' }], isError: true }))
      .toMatchObject({ error: failed })
  })

  it('carries the metadata that the tool claims', () => {
    expect(readReturn({ content: [], details: null, child_loop_id: 'l1' }).metadata)
      .toStrictEqual({ child_loop_id: 'l1' })
    expect(readReturn({ success: true, output: 1, tokens_used: 5 }).metadata).toStrictEqual({ tokens_used: 5 })
    expect(readReturn(7)).toStrictEqual({ body: { type: 'output', data: 7 }, metadata: {} })
  })
})
