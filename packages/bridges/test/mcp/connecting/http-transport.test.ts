import type { ServerResponse } from 'node:http'
import type { ConnectedExtension } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Setup, now, resolved } from './setup.ts'
import { answer, RawHttp, textResult, type Answering } from './raw-http.ts'

let setup: Setup
let far: RawHttp
beforeEach(() => { setup = new Setup() })
afterEach(async () => {
  await setup.close()
  far.close()
})

async function connected(answering: Answering): Promise<ConnectedExtension> {
  far = new RawHttp(answering)
  const servers = setup.open()
  const config = resolved({ far: { type: 'remote', url: await far.listen() } })
  servers.offer(config)
  await servers.connect(now())
  return servers.offer(config).extensions[0]!
}

function go(extension: ConnectedExtension, args: JsonObject = {}): Promise<JsonObject> {
  const execute = extension.module(['far_go']).tools['far_go']!.execute as unknown as (
    args: JsonObject, runtime: object,
  ) => Promise<JsonObject>
  return execute(args, { signal: now(), progress: () => undefined })
}

const stream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' })
const event = (id: number, result: unknown): string => `data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`

it.each<[string, Answering]>([
  ['ends without a response', (response) => stream(response).end(': nothing\n\n')],
  ['ends with an invalid response', (response, id) => stream(response).end(event(id, 'a text'))],
  ['is closed', (response) => stream(response).write(': begun\n\n', () => response.destroy())],
  [
    'is closed and could be resumed',
    (response) => stream(response).write('id: 1\ndata:\n\n', () => response.destroy()),
  ],
  [
    'has an endless event',
    (response) => {
      const pour = (error?: Error | null): void =>
        void (error || response.write(`data: ${'x'.repeat(1 << 16)}\n`, pour))
      stream(response)
      pour()
    },
  ],
])('fails a call at once if its stream %s', async (_what, answering) => {
  const extension = await connected(answering)
  await expect(go(extension)).rejects.toMatchObject({
    code: 'ServerLost',
    message: 'The MCP server "far" was lost during the call: the event stream ended without a result',
  })
})

it('reports an incomplete response as ServerLost', async () => {
  const extension = await connected((response) =>
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
      .write('{"jsonrpc"', () => response.destroy()),
  )
  await expect(go(extension)).rejects.toMatchObject({
    code: 'ServerLost', message: 'The MCP server "far" was lost during the call: the connection was closed',
  })
})

it('accepts a response at the end of its stream', async () => {
  const extension = await connected((response, id) => stream(response).end(event(id, textResult('there'))))
  expect(await go(extension)).toEqual(textResult('there'))
})

it.each([429, 503])('fails only the call with status %i', async (status) => {
  const begun = Promise.withResolvers<() => void>()
  const extension = await connected((response, id, { slow }) => {
    if (slow === true) begun.resolve(() => answer(response, id, textResult('slowly')))
    else response.writeHead(status).end()
  })
  const slow = go(extension, { slow: true })
  const finish = await begun.promise
  await expect(go(extension)).rejects.toMatchObject({ code: 'ServerUnavailable' })
  finish()
  expect(await slow).toEqual(textResult('slowly'))
})

it.each([
  ['{"jsonrpc": nope', 'sent an invalid response: '],
  ['{"jsonrpc":"2.0","id":1,"result":"a text"}', 'sent an invalid response: [ { "code"'],
])('reports an unreadable response: %s', async (body, message) => {
  const extension = await connected(
    (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(body),
  )
  await expect(go(extension)).rejects.toMatchObject({
    code: 'ToolExecutionFailed', message: expect.stringContaining(`The MCP server "far" ${message}`),
  })
})

const json = (response: ServerResponse, body: object): ServerResponse =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', ...body }))
const otherRequest = 'the response is for another request (4711)'

it.each<[string, Answering, string]>([
  ['202', (response) => response.writeHead(202).end(), 'the HTTP response contains no result'],
  [
    '202 with an event stream', (response) => response.writeHead(202, { 'content-type': 'text/event-stream' }).end(),
    'the HTTP response contains no result',
  ],
  [
    'a response for another request',
    (response) => json(response, { id: 4711, result: textResult('there') }), otherRequest,
  ],
  [
    'a notification only', (response) => json(response, { method: 'notifications/tools/list_changed' }),
    'the HTTP response contains no result',
  ],
  [
    'an open stream with a response for another request',
    (response) => stream(response).write(event(4711, textResult('there'))), otherRequest,
  ],
])('fails a call at once for %s', async (_what, answering, message) => {
  const extension = await connected(answering)
  await expect(go(extension)).rejects.toMatchObject({
    code: 'ToolExecutionFailed', message: `The MCP server "far" sent an invalid response: ${message}`,
  })
})

it.each<[string, Answering]>([
  ['as JSON', (response) => json(response, { error: { code: -32600, message: 'no such berth' } })],
  [
    'in an open stream',
    (response) =>
      stream(response).write('data: {"jsonrpc":"2.0","error":{"code":-32600,"message":"no such berth"}}\n\n'),
  ],
])('assigns an error without an id to its request: %s', async (_what, answering) => {
  const extension = await connected(answering)
  await expect(go(extension)).rejects.toMatchObject({ code: 'ToolExecutionFailed', message: 'no such berth' })
})

it('accepts a response on the stream of another call', async () => {
  const begun = Promise.withResolvers<void>()
  const open: { readonly response: ServerResponse; readonly id: number }[] = []
  const extension = await connected((response, id) => {
    open.push({ response: stream(response), id })
    if (open.length === 3) begun.resolve()
  })
  const calls = [go(extension), go(extension), go(extension)]
  await begun.promise
  const [first, second, third] = open.toSorted((one, other) => one.id - other.id)
  third!.response.end(event(third!.id, textResult('third')))
  await Promise.race(calls)
  first!.response.write(event(third!.id, textResult('third')))
  first!.response.write(event(second!.id, textResult('second')))
  second!.response.write(event(first!.id, textResult('first')))
  expect((await Promise.all(calls)).map((one) => JSON.stringify(one)).toSorted()).toEqual(
    ['first', 'second', 'third'].map((word) => JSON.stringify(textResult(word))),
  )
})
