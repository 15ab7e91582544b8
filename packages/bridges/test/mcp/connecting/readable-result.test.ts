import type { ConnectedExtension } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readableResult } from '../../../src/mcp/connecting/transport/client.ts'
import { Ground, now, resolved } from './ground.ts'
import { answer, RawHttp } from './raw-http.ts'

let ground: Ground
beforeEach(() => { ground = new Ground() })
afterEach(() => ground.leave())

const read = (result: JsonObject): JsonObject =>
  (readableResult({ jsonrpc: '2.0', id: 1, result } as never) as unknown as { readonly result: JsonObject }).result
const text = (words: string) => ({ type: 'text', text: words })
const blocks: [Json, Json][] = [
  [text('as it is'), text('as it is')],
  [{ ...text('with remarks'), annotations: null, _meta: 'none' }, text('with remarks')],
  ['bare', text('bare')],
  [{ type: 'resource', resource: { uri: 'file:///a', text: 'a', mimeType: null, _meta: null } }, { type: 'resource', resource: { uri: 'file:///a', text: 'a' } }],
  [{ type: 'video', data: 'AAAA' }, text('[left out of the result: the server sent a block of the type "video" that cannot be read here]')],
  [{ type: 'image', data: 'no base64!', mimeType: 'image/png' }, text('[left out of the result: the server sent a block of the type "image" that cannot be read here]')],
  [{ type: 'text' }, text('[left out of the result: the server sent a block of the type "text" that cannot be read here]')],
  [{ text: 'no type' }, text('[left out of the result: the server sent a block without a type]')],
  [7, text('[left out of the result: the server sent what is no block at all]')],
]
const content = blocks.map(([written]) => written)
const shown = blocks.map(([, readable]) => readable)

it.each(blocks)('reads a block, or says that it is left out: %j', (written, readable) => {
  expect(read({ content: [written] })).toEqual({ content: [readable] })
})

it.each<[JsonObject, JsonObject]>([
  [{ content: null, isError: null, structuredContent: null }, { content: [] }],
  [{ content: 'one text', structuredContent: { a: null } }, { content: [text('one text')], structuredContent: { a: null } }],
  [{ content: text('one block'), isError: true }, { content: [text('one block')], isError: true }],
  [{ tools: [null, { name: 'a' }], nextCursor: null }, { tools: [], 'bulkhead/listed': [null, { name: 'a' }] }],
  [{ tools: 'none', other: null }, { tools: 'none', other: null }],
])('what is null is not there, and one block needs no list: %j', (written, readable) => {
  expect(read(written)).toEqual(readable)
})

async function go(config: Parameters<typeof resolved>[0]): Promise<JsonObject> {
  const servers = ground.open()
  servers.offer(resolved(config))
  await servers.connect(now())
  const extension: ConnectedExtension = servers.offer(resolved(config)).extensions[0]!
  const execute = extension.module(['ship_go']).tools['ship_go']!.execute as unknown as (args: JsonObject, runtime: object) => Promise<JsonObject>
  return execute({}, { signal: now(), progress: () => undefined })
}

it('of a result with bad blocks the good ones come through, from a process and over HTTP', async () => {
  const says = `{"jsonrpc":"2.0","id":$id,"result":${JSON.stringify({ content, isError: null })}}`
  expect(await go({ ship: ground.raw({ tools: [{ name: 'go' }], says }) })).toEqual({ content: shown })
  const far = new RawHttp((response, id) => answer(response, id, { content, isError: null }))
  try {
    expect(await go({ ship: { type: 'remote', url: await far.listen() } })).toEqual({ content: shown })
  } finally {
    far.close()
  }
})
