import type { ServerResponse } from 'node:http'
import type { ConnectedExtension } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Ground, now, resolved } from './ground.ts'
import { answer, RawHttp, said, type Answering } from './raw-http.ts'

let ground: Ground
let far: RawHttp
beforeEach(() => { ground = new Ground() })
afterEach(async () => {
  await ground.leave()
  far.close()
})

async function connected(answering: Answering): Promise<ConnectedExtension> {
  far = new RawHttp(answering)
  const servers = ground.open()
  const config = resolved({ far: { type: 'remote', url: await far.listen() } })
  servers.offer(config)
  await servers.connect(now())
  return servers.offer(config).extensions[0]!
}

function go(extension: ConnectedExtension, args: JsonObject = {}): Promise<JsonObject> {
  const execute = extension.module(['far_go']).tools['far_go']!.execute as unknown as (args: JsonObject, runtime: object) => Promise<JsonObject>
  return execute(args, { signal: now(), progress: () => undefined })
}

const stream = (response: ServerResponse): ServerResponse => response.writeHead(200, { 'content-type': 'text/event-stream' })
const event = (id: number, result: unknown): string => `data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`

it.each<[string, Answering]>([
  ['ends without an answer', (response) => stream(response).end(': nothing\n\n')],
  ['ends with what is no answer', (response, id) => stream(response).end(event(id, 'a text'))],
  ['breaks off', (response) => stream(response).write(': begun\n\n', () => response.destroy())],
  ['breaks off where it could be gone on with, and is not', (response) => stream(response).write('id: 1\ndata:\n\n', () => response.destroy())],
  ['has an event without an end', (response) => {
    const pour = (error?: Error | null): void => void (error || response.write(`data: ${'x'.repeat(1 << 16)}\n`, pour))
    stream(response)
    pour()
  }],
])('a call whose stream %s is over at once', async (_what, answering) => {
  const extension = await connected(answering)
  await expect(go(extension)).rejects.toMatchObject({
    code: 'ServerLost', message: 'The MCP server "far" was lost while the call ran: the stream of its answer ended without one',
  })
})

it('a call whose answer breaks off is lost, and how far it came is unknown', async () => {
  const extension = await connected((response) =>
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' }).write('{"jsonrpc"', () => response.destroy()))
  await expect(go(extension)).rejects.toMatchObject({
    code: 'ServerLost', message: 'The MCP server "far" was lost while the call ran: the connection broke off',
  })
})

it('an answer that is the last thing in its stream counts', async () => {
  const extension = await connected((response, id) => stream(response).end(event(id, said('there'))))
  expect(await go(extension)).toEqual(said('there'))
})

it.each([429, 503])('a call that is answered by %i takes none with it that runs', async (status) => {
  const begun = Promise.withResolvers<() => void>()
  const extension = await connected((response, id, { slow }) => {
    if (slow === true) begun.resolve(() => answer(response, id, said('slowly')))
    else response.writeHead(status).end()
  })
  const slow = go(extension, { slow: true })
  const finish = await begun.promise
  await expect(go(extension)).rejects.toMatchObject({ code: 'ServerUnavailable' })
  finish()
  expect(await slow).toEqual(said('slowly'))
})

it.each([
  ['{"jsonrpc": nope', 'gave an answer that is not of the protocol: '],
  ['{"jsonrpc":"2.0","id":1,"result":"a text"}', 'gave an answer that is not of the protocol: [ { "code"'],
])('says of an answer of which nothing can be made that it is one: %s', async (body, message) => {
  const extension = await connected((response) => response.writeHead(200, { 'content-type': 'application/json' }).end(body))
  await expect(go(extension)).rejects.toMatchObject({ code: 'ToolExecutionFailed', message: expect.stringContaining(`The MCP server "far" ${message}`) })
})

const json = (response: ServerResponse, body: object): ServerResponse =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', ...body }))
const foreign = 'it is for a request that was not made (4711)'

it.each<[string, Answering, string]>([
  ['202', (response) => response.writeHead(202).end(), 'its answer holds none'],
  ['202 and a stream that stays', (response) => response.writeHead(202, { 'content-type': 'text/event-stream' }).end(), 'its answer holds none'],
  ['what is for another request', (response) => json(response, { id: 4711, result: said('there') }), foreign],
  ['no answer at all', (response) => json(response, { method: 'notifications/tools/list_changed' }), 'its answer holds none'],
  ['a stream that stays, with what is for another request', (response) => stream(response).write(event(4711, said('there'))), foreign],
])('a call that is answered by %s is over at once', async (_what, answering, message) => {
  const extension = await connected(answering)
  await expect(go(extension)).rejects.toMatchObject({
    code: 'ToolExecutionFailed', message: `The MCP server "far" gave an answer that is not of the protocol: ${message}`,
  })
})

it.each<[string, Answering]>([
  ['whole', (response) => json(response, { error: { code: -32600, message: 'no such berth' } })],
  ['in a stream that stays', (response) => stream(response).write('data: {"jsonrpc":"2.0","error":{"code":-32600,"message":"no such berth"}}\n\n')],
])('an error without an id is that of the request it answers: %s', async (_what, answering) => {
  const extension = await connected(answering)
  await expect(go(extension)).rejects.toMatchObject({ code: 'ToolExecutionFailed', message: 'no such berth' })
})

it('what a server says on the stream of one call and means for another takes neither with it', async () => {
  const begun = Promise.withResolvers<void>()
  const open: { readonly response: ServerResponse; readonly id: number }[] = []
  const extension = await connected((response, id) => {
    open.push({ response: stream(response), id })
    if (open.length === 3) begun.resolve()
  })
  const calls = [go(extension), go(extension), go(extension)]
  await begun.promise
  const [first, second, third] = open.toSorted((one, other) => one.id - other.id)
  third!.response.end(event(third!.id, said('third')))
  await Promise.race(calls)
  first!.response.write(event(third!.id, said('third')))
  first!.response.write(event(second!.id, said('second')))
  second!.response.write(event(first!.id, said('first')))
  expect((await Promise.all(calls)).map((one) => JSON.stringify(one)).toSorted()).toEqual(['first', 'second', 'third'].map((word) => JSON.stringify(said(word))))
})
