import type { Content, Outcome } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { resultParts, resultText } from '../../src/models/result-parts.ts'

const metadata: Outcome['metadata'] = { call_id: 'c1', tool: 't', origin: null, duration_ms: 1, attempt: 1 }
const output = (...content: Content[]): Outcome => ({ type: 'output', data: { n: 1 }, content, metadata })
const png = { type: 'image', data: 'AAAA', mimeType: 'image/png' } as const
const carries = (mimeType: string) => ['image/png', 'audio/wav', 'application/pdf'].includes(mimeType)

describe('parts of a result', () => {
  it.each<[string, Content, unknown]>([
    ['text', { type: 'text', text: 'a' }, { type: 'text', text: 'a' }],
    ['an image', png, { type: 'media', kind: 'image', mimeType: 'image/png', data: 'AAAA', name: 'result.png' }],
    ['audio', { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }, {
      type: 'media', kind: 'audio', mimeType: 'audio/wav', data: 'AAAA', name: 'result.wav',
    }],
    ['a resource', { type: 'resource', uri: 'file:///a.txt', text: 'b' }, { type: 'text', text: '[file:///a.txt]\nb' }],
    ['a binary resource', { type: 'resource', uri: 'x', blob: 'AAAA', mimeType: 'application/pdf' }, {
      type: 'media', kind: 'file', mimeType: 'application/pdf', data: 'AAAA', name: 'result.pdf',
    }],
    ['a link', { type: 'resource_link', uri: 'file:///a', name: 'a', title: 'A', mimeType: 'text/plain' }, {
      type: 'text', text: '[link to a: file:///a (A, text/plain)]',
    }],
  ])('carry %s', (_, content, expected) => {
    expect(resultParts(output(content), carries)).toEqual([expected])
  })

  it('name what the API cannot carry, with the data of the tool', () => {
    expect(resultText(output({ ...png, data: 'A'.repeat(16_000) })))
      .toBe('{"n":1}\n[image/png, 12 kB, not sent: the model API does not take it in a tool result]')
    expect(
      resultText(output({ type: 'text', text: 'a' }, { type: 'resource', uri: 'file:///b\n', blob: 'AAAA' })),
    ).toBe(
      'a\n[file:///b\\u{a}, application/octet-stream, 3 bytes, '
      + 'not sent: the model API does not take it in a tool result]',
    )
  })

  it.each(['', 'AAA', 'AA=A', 'AA A', '"><x'])('name bytes that are not base64: %j', (data) => {
    expect(resultParts(output({ ...png, data }), carries)).toEqual([
      { type: 'text', text: '{"n":1}' },
      { type: 'text', text: expect.stringMatching(/not sent: the data is not base64/) },
    ])
  })

  it('name a media type that could leave its place', () => {
    expect(resultParts(output({ ...png, mimeType: 'image/png;x,' }), () => true)[1]).toMatchObject({ type: 'text' })
  })

  it('have the text of an error, then its images', () => {
    const error: Outcome = {
      type: 'error', error_text: 'no', error: { code: 'NotFound', class: 'ToolTerminal', retryable: false }, metadata,
      content: [{ type: 'text', text: 'no' }, png],
    }
    expect(resultParts(error, carries).map(({ type }) => type)).toEqual(['text', 'media'])
  })
})

it('shows 500 characters of a name', () => {
  const uri = 'x'.repeat(1_000)
  const text = resultText(output({ type: 'resource', uri, blob: 'AAAA' }))
  expect(text).toContain(`[${'x'.repeat(500)}, application/octet-stream`)
})
