import type { Outcome } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { toModelOutput } from '../../src/ai-sdk/model-output.ts'

const metadata: Outcome['metadata'] = { call_id: 'c1', tool: 'look', origin: null, duration_ms: 1, attempt: 1 }
const cut = { ...metadata, truncated: true, output_path: '/tmp/whole' }
const NOTE = '[The result was too long and is cut here. The whole is in /tmp/whole]'
const error = { code: 'NotFound', class: 'ToolTransient', retryable: false } as const

it('converts data to text or JSON, and errors to error text', () => {
  expect(toModelOutput({ type: 'output', data: 'plain', metadata })).toEqual({ type: 'text', value: 'plain' })
  expect(toModelOutput({ type: 'output', data: { a: 1 }, metadata })).toEqual({ type: 'json', value: { a: 1 } })
  expect(toModelOutput({ type: 'output', data: { a: 1 }, metadata: cut })).toEqual({
    type: 'text', value: `{"a":1}\n${NOTE}`,
  })
  expect(toModelOutput({ type: 'error', error_text: 'No.', error, metadata })).toEqual({
    type: 'error-text', value: 'No.',
  })
})

it('passes images and PDF files on, and names other files', () => {
  const file = (mediaType: string, filename: string) => ({
    type: 'file', mediaType, filename, data: { type: 'data', data: 'aGk=' },
  })
  expect(
    toModelOutput({
      type: 'output', data: null, metadata: cut,
      content: [
        { type: 'text', text: 'See:' }, { type: 'image', data: 'aGk=', mimeType: 'image/png' },
        { type: 'audio', data: 'aGk=', mimeType: 'audio/wav' },
        { type: 'resource', uri: 'file:///a.pdf', mimeType: 'application/pdf', blob: 'aGk=' },
      ],
    }),
  ).toEqual({
    type: 'content',
    value: [
      { type: 'text', text: 'See:' }, file('image/png', 'result.png'),
      { type: 'text', text: expect.stringMatching(/audio\/wav.*not sent/) }, file('application/pdf', 'result.pdf'),
      { type: 'text', text: NOTE },
    ],
  })
  expect(
    toModelOutput({
      type: 'output', data: 1, metadata,
      content: [
        { type: 'text', text: 'a' }, { type: 'text', text: 'b' },
      ],
    }),
  ).toEqual({ type: 'text', value: 'a\nb' })
  expect(
    toModelOutput({
      type: 'error', error_text: 'No.', error, metadata,
      content: [{ type: 'image', data: 'aGk=', mimeType: 'image/png' }],
    }),
  ).toEqual({ type: 'error-text', value: expect.stringMatching(/^No\.\n.*image\/png.*not sent/) })
})

it.each([null, undefined, 'text', { type: 'output' }, { type: 'progress', text: 'half' }, []])(
  'passes on what is no outcome: %j',
  (result) => {
    expect(toModelOutput(result)).toEqual({ type: 'json', value: result ?? null })
  },
)
