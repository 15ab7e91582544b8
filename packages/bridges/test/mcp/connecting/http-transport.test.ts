import type { ServerResponse } from 'node:http'
import type { ConnectedExtension, JsonObject } from '@bulkhead/contract'
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

it('a call whose answer breaks off is lost, and nobody knows how far it came', async () => {
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
