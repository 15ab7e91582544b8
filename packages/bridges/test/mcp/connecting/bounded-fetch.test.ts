import { expect, it } from 'vitest'
import { boundedFetch } from '../../../src/mcp/connecting/transport/http-transport.ts'

function read(chunks: readonly string[], type: string): Promise<string> {
  const respond = async () =>
    new Response(ReadableStream.from(chunks.map((chunk) => Buffer.from(chunk))), { headers: { 'content-type': type } })
  return boundedFetch(16, respond)('http://far.example', {}).then((response) => response.text())
}

it('limits a response', async () => {
  expect(await read(['12345678', '12345678'], 'application/json')).toHaveLength(16)
  await expect(read(['12345678\n\n', '123456789'], 'application/json')).rejects.toThrow('more than 16 bytes')
})

it.each([
  ['many events', Array.from({ length: 9 }, () => 'data: 123\n\n')],
  [
    'events whose ends are split',
    ['data: 123\r', '\n\r', '\ndata: 123\r\n', '\r\n', 'data: 123', '\n', '\n', 'data: 456'],
  ],
])('does not limit an event stream: %s', async (_what, chunks) => {
  expect(await read(chunks, 'text/event-stream; charset=utf-8')).toBe(chunks.join(''))
})

it.each([
  ['in one line', ['data: ', '12345678', '12345678']],
  ['in many lines', Array.from({ length: 9 }, () => 'data: 1\n')],
])('limits an event: %s', async (_what, chunks) => {
  await expect(read(chunks, 'text/event-stream')).rejects.toThrow('more than 16 bytes')
})
