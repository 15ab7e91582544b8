import type { ConnectedExtension } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readableResult } from '../../../src/mcp/connecting/transport/readable-result.ts'
import { Setup, now, resolved } from './setup.ts'
import { answer, RawHttp } from './raw-http.ts'

let setup: Setup
beforeEach(() => { setup = new Setup() })
afterEach(() => setup.close())

const read = (result: JsonObject): JsonObject =>
  (readableResult({ jsonrpc: '2.0', id: 1, result } as never) as unknown as { readonly result: JsonObject }).result
const text = (words: string) => ({ type: 'text', text: words })
const blocks: [Json, Json][] = [
  [text('valid'), text('valid')],
  [{ ...text('with metadata'), annotations: null, _meta: 'none' }, text('with metadata')],
  ['bare', text('bare')],
  [
    { type: 'resource', resource: { uri: 'file:///a', text: 'a', mimeType: null, _meta: null } },
    { type: 'resource', resource: { uri: 'file:///a', text: 'a' } },
  ],
  [
    { type: 'video', data: 'AAAA' },
    text('[removed from the result: the server sent an unsupported block of type "video"]'),
  ],
  [
    { type: 'v'.repeat(100) },
    text(`[removed from the result: the server sent an unsupported block of type "${'v'.repeat(63)}…"]`),
  ],
  [
    { type: 'image', data: 'no base64!', mimeType: 'image/png' },
    text('[removed from the result: the server sent an unsupported block of type "image"]'),
  ],
  [{ type: 'text' }, text('[removed from the result: the server sent an unsupported block of type "text"]')],
  [{ text: 'no type' }, text('[removed from the result: the server sent a block without a type]')],
  [7, text('[removed from the result: the server sent something that is not a content block]')],
]
const content = blocks.map(([written]) => written)
const shown = blocks.map(([, readable]) => readable)

it.each(blocks)('keeps a valid block, and replaces an invalid one with a note: %j', (written, readable) => {
  expect(read({ content: [written] })).toEqual({ content: [readable] })
})

it.each<[JsonObject, JsonObject]>([
  [{ content: null, isError: null, structuredContent: null }, { content: [] }],
  [
    { content: 'one text', structuredContent: { a: null } },
    { content: [text('one text')], structuredContent: { a: null } },
  ],
  [
    { content: text('one block'), isError: true }, { content: [text('one block')], isError: true },
  ],
  [
    { tools: [null, { name: 'a' }], nextCursor: null }, { 'tools': [], 'bulkhead/listed': [null, { name: 'a' }] },
  ],
  [
    { tools: 'none', other: null }, { tools: 'none', other: null },
  ],
])('removes null members, and accepts a single block: %j', (written, readable) => {
  expect(read(written)).toEqual(readable)
})

async function go(config: Parameters<typeof resolved>[0]): Promise<JsonObject> {
  const servers = setup.open()
  servers.offer(resolved(config))
  await servers.connect(now())
  const extension: ConnectedExtension = servers.offer(resolved(config)).extensions[0]!
  const execute = extension.module(['ship_go']).tools['ship_go']!.execute as unknown as (
    args: JsonObject, runtime: object,
  ) => Promise<JsonObject>
  return execute({}, { signal: now(), progress: () => undefined })
}

it('keeps the valid blocks of a result, from a process and over HTTP', async () => {
  const response = `{"jsonrpc":"2.0","id":$id,"result":${JSON.stringify({ content, isError: null })}}`
  expect(await go({ ship: setup.raw({ tools: [{ name: 'go' }], responses: { go: response } }) })).toEqual({
    content: shown,
  })
  const far = new RawHttp((reply, id) => answer(reply, id, { content, isError: null }))
  try {
    expect(await go({ ship: { type: 'remote', url: await far.listen() } })).toEqual({ content: shown })
  } finally {
    far.close()
  }
})
