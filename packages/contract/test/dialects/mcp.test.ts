import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { textOfContent, textOfData, errorOf } from '../../src/dialects/reading.ts'
import { fromMcp, toMcp } from '../../src/dialects/mcp.ts'
import { isJsonObject } from '@bulkhead/kit/json'
import { anyOutcome, base } from '../samples/outcomes.ts'

describe("an MCP server's result", () => {
  it('becomes its structured content, or its text', () => {
    const content = [{ type: 'text', text: 'a' }, { type: 'text', text: 'b' }]
    expect(fromMcp({ content, structuredContent: { n: 1 } })?.body)
      .toStrictEqual({ type: 'output', data: { n: 1 }, content })
    expect(fromMcp({ content, isError: false })?.body).toStrictEqual({ type: 'output', data: 'a\nb', content })
    expect(fromMcp({ content: [] })?.body).toStrictEqual({ type: 'output', data: null, content: [] })
  })

  it('becomes an error if isError is set', () => {
    const content = [{ type: 'text', text: 'no' }]
    expect(fromMcp({ content, structuredContent: { n: 1 }, isError: true })?.body)
      .toStrictEqual({ type: 'error', error_text: 'no', error: errorOf('ToolExecutionFailed', { n: 1 }), content })
    for (const named of [{ code: 'NoSuchCode' }, { code: '__proto__' }, 'NotFound', null]) {
      expect(fromMcp({ content, isError: true, _meta: { 'bulkhead/error': named } })?.body)
        .toHaveProperty('error.code', 'ToolExecutionFailed')
    }
    expect(fromMcp({ content: [], isError: true })?.body).toMatchObject({
      error_text: 'The tool failed and did not say why.',
    })
  })

  it('keeps every kind of block, and drops annotations', () => {
    const read = fromMcp({
      _meta: { trace: 1 },
      content: [
        { type: 'text', text: 'a', annotations: { audience: ['user'] } },
        { type: 'image', data: 'AA==', mimeType: 'image/png', _meta: {} },
        { type: 'audio', data: 'AA==', mimeType: 'audio/wav' },
        { type: 'resource_link', uri: 'file:///x', name: 'x', title: 'X', size: 3, icons: [] },
        { type: 'resource', resource: { uri: 'file:///y', text: 'inside', mimeType: 'text/csv', _meta: {} } },
        { type: 'resource', resource: { uri: 'file:///z', blob: 'AA==' } },
        { type: 'resource', resource: { uri: 'file:///none' } },
      ],
    })
    expect(read?.body.content).toStrictEqual([
      { type: 'text', text: 'a' },
      { type: 'image', data: 'AA==', mimeType: 'image/png' },
      { type: 'audio', data: 'AA==', mimeType: 'audio/wav' },
      { type: 'resource_link', uri: 'file:///x', name: 'x', title: 'X' },
      { type: 'resource', uri: 'file:///y', text: 'inside', mimeType: 'text/csv' },
      { type: 'resource', uri: 'file:///z', blob: 'AA==' },
      { type: 'text', text: '[binary resource file:///none]' },
    ])
    expect(read?.body).toHaveProperty('data', [
      'a', '[audio of type audio/wav]', 'x: file:///x', 'inside', '[binary resource file:///z]',
      '[binary resource file:///none]',
    ].join('\n'))
  })

  it.each([
    ['an unknown key', { content: [], rows: 1 }],
    ['an unknown block', { content: [{ type: 'video' }] }],
    ['structured content that is a list', { content: [], structuredContent: [1] }],
    ['no content', { isError: true }],
  ])('is not recognized with %s', (_, value) => {
    expect(fromMcp(value)).toBeUndefined()
  })
})

describe('a result for an MCP client', () => {
  it('has exactly the documented fields', () => {
    expect(toMcp({ type: 'output', data: { a: 1 }, details: 'secret', metadata: base }))
      .toStrictEqual({ content: [{ type: 'text', text: '{"a":1}' }], structuredContent: { a: 1 } })
    expect(toMcp({ type: 'output', data: 'a', metadata: base }))
      .toStrictEqual({ content: [{ type: 'text', text: 'a' }] })
    expect(toMcp({ type: 'output', data: [1], content: [], metadata: base }))
      .toStrictEqual({ content: [{ type: 'text', text: '[1]' }] })
    expect(toMcp({ type: 'error', error_text: 'no', error: errorOf('RuleDenied', { rule: 1 }), metadata: base }))
      .toStrictEqual({
      content: [{ type: 'text', text: 'no' }], isError: true,
      _meta: { 'bulkhead/error': { code: 'RuleDenied', class: 'ToolTerminal', retryable: false } },
    })
  })

  it('names the tool that finds out what an unknown outcome was, and no other data', () => {
    const metaOf = (code: 'OutcomeUnknown' | 'RuleDenied') => {
      const error = errorOf(code, { verify: 'was_paid', began: [] })
      const { _meta: about } = toMcp({ type: 'error', error_text: 'no', error, metadata: base })
      return about
    }
    const { code, class: cls, retryable } = errorOf('OutcomeUnknown')
    expect(metaOf('OutcomeUnknown'))
      .toStrictEqual({ 'bulkhead/error': { code, class: cls, retryable, verify: 'was_paid' } })
    expect(metaOf('RuleDenied')).not.toHaveProperty(['bulkhead/error', 'verify'])
  })

  it('shows the error text once, and the content of the tool', () => {
    const image = { type: 'image', data: 'AA==', mimeType: 'image/png' } as const
    const error = { type: 'error', error_text: 'no', error: errorOf('ToolExecutionFailed'), metadata: base } as const
    expect(toMcp({ ...error, content: [{ type: 'text', text: 'no' }] }).content)
      .toStrictEqual([{ type: 'text', text: 'no' }])
    expect(toMcp({ ...error, content: [image] }).content).toStrictEqual([{ type: 'text', text: 'no' }, image])
  })

  it('is read back, except for documented losses', () => {
    fc.assert(fc.property(anyOutcome, (outcome) => {
      const result = toMcp(outcome)
      const body = fromMcp(result)?.body
      expect(body?.type).toBe(outcome.type)
      const blocks = outcome.content ?? []
      expect(blocks.length === 0 ? [] : body?.content?.slice(-blocks.length)).toStrictEqual(blocks)
      if (outcome.type === 'output' && body?.type === 'output') {
        const shown = outcome.content?.length ? textOfContent(outcome.content) ?? null : textOfData(outcome.data)
        expect(body.data).toStrictEqual(isJsonObject(outcome.data) ? outcome.data : shown)
      }
      if (outcome.type === 'error' && body?.type === 'error') {
        expect(body.error_text.startsWith(outcome.error_text)).toBe(true)
        expect(body.error).toStrictEqual(errorOf(outcome.error.code))
      }
    }))
  })
})
