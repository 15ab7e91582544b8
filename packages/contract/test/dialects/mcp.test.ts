import { describe, expect, it } from 'vitest'
import { fromMcp } from '../../src/dialects/mcp.ts'
import { errorOf } from '../../src/dialects/reading.ts'

describe("an MCP server's result", () => {
  it('is its structured content where it has one, else its text', () => {
    const content = [{ type: 'text', text: 'a' }, { type: 'text', text: 'b' }]
    expect(fromMcp({ content, structuredContent: { n: 1 } })?.body).toStrictEqual({ type: 'output', data: { n: 1 }, content })
    expect(fromMcp({ content, isError: false })?.body).toStrictEqual({ type: 'output', data: 'a\nb', content })
    expect(fromMcp({ content: [] })?.body).toStrictEqual({ type: 'output', data: null, content: [] })
  })

  it('is an error where it says so', () => {
    const content = [{ type: 'text', text: 'no' }]
    expect(fromMcp({ content, structuredContent: { n: 1 }, isError: true })?.body)
      .toStrictEqual({ type: 'error', error_text: 'no', error: errorOf('ToolExecutionFailed', { n: 1 }), content })
    expect(fromMcp({ content: [], isError: true })?.body).toMatchObject({ error_text: 'The tool failed and did not say why.' })
  })

  it('shows as text what a model cannot be shown, and drops annotations', () => {
    const read = fromMcp({
      _meta: { trace: 1 },
      content: [
        { type: 'text', text: 'a', annotations: { audience: ['user'] } },
        { type: 'image', data: 'AA==', mimeType: 'image/png', _meta: {} },
        { type: 'audio', data: 'AA==', mimeType: 'audio/wav' },
        { type: 'resource_link', uri: 'file:///x', name: 'x' },
        { type: 'resource', resource: { uri: 'file:///y', text: 'inside' } },
        { type: 'resource', resource: { uri: 'file:///z', blob: 'AA==' } },
      ],
    })
    expect(read?.body.content).toStrictEqual([
      { type: 'text', text: 'a' },
      { type: 'image', data: 'AA==', mimeType: 'image/png' },
      { type: 'text', text: '[audio of type audio/wav]' },
      { type: 'text', text: 'x: file:///x' },
      { type: 'text', text: 'inside' },
      { type: 'text', text: '[binary resource file:///z]' },
    ])
  })

  it.each([
    ['an unknown key', { content: [], rows: 1 }],
    ['an unknown block', { content: [{ type: 'video' }] }],
    ['structured content that is no object', { content: [], structuredContent: [1] }],
    ['no content', { isError: true }],
  ])('is not one with %s', (_, value) => {
    expect(fromMcp(value)).toBeUndefined()
  })
})
