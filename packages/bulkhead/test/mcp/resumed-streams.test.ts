import { once } from 'node:events'
import { connect as connectTo, createServer, type AddressInfo, type Socket } from 'node:net'
import type { HttpServing } from '@bulkhead/bridges/mcp'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { HttpWorld, inSession, PLAIN, send, TOKENS } from './http-world.ts'
import { clientOf } from './served-world.ts'

let world: HttpWorld
beforeAll(async () => {
  world = await new HttpWorld().open()
})
afterEach(() => world.endAll())
afterAll(() => world.close())

interface StreamEvent {
  readonly id: string
  readonly retry?: string
  readonly message?: { readonly id?: number; readonly method?: string; readonly result?: unknown }
}

/** The events of a stream, as they arrive. */
async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<StreamEvent, void> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true })
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const fields = new Map(
        text
          .slice(0, end)
          .split('\n')
          .map((line) => /^(\w*): ?(.*)$/.exec(line)!.slice(1) as [string, string]),
      )
      text = text.slice(end + 2)
      const data = fields.get('data')
      if (!fields.has('id')) continue
      yield { id: fields.get('id')!, retry: fields.get('retry')!, ...(data && { message: JSON.parse(data) as never }) }
    }
  }
}

/** A session whose client can be asked, with a call that has asked, over a connection that broke then. */
async function broken({ url }: HttpServing) {
  const start = await send(
    { url },
    {
      body: {
        jsonrpc: '2.0', id: 0, method: 'initialize',
        params: {
          protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo: { name: 'raw', version: '0' },
        },
      },
    },
  )
  const session = String(start.headers['mcp-session-id'])
  const gone = new AbortController()
  const headers = { ...PLAIN, 'Mcp-Session-Id': session, 'MCP-Protocol-Version': '2025-11-25' }
  const call = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'greet', arguments: {} } })
  const { body } = await fetch(url, { method: 'POST', headers, signal: gone.signal, body: call })
  const seen: StreamEvent[] = []
  for await (const event of eventsOf(body!)) {
    seen.push(event)
    if (event.message) break
  }
  gone.abort()
  const [first, asked] = seen as [StreamEvent, StreamEvent]
  return { session, headers, first, asked }
}

const answer = (serving: HttpServing, session: string, id: number) =>
  inSession(serving, session, { id, result: { action: 'accept', content: { answer: 'Ada' } } })

async function resume(url: string, headers: Record<string, string>, lastEventId: string) {
  const { status, body } = await fetch(url, { headers: { ...headers, 'Last-Event-ID': lastEventId } })
  const events: StreamEvent[] = []
  for await (const event of eventsOf(body!)) events.push(event)
  return { status, events }
}

it('a client that connects again gets what it missed, once and in order', async () => {
  const { serving } = await world.serve({ session: { mode: 'yolo' } })
  const { session, headers, first, asked } = await broken(serving)
  expect(first).toMatchObject({ id: expect.stringMatching(/.{20}/) as string, retry: '1000' })
  expect(asked.message?.method).toBe('elicitation/create')
  expect((await answer(serving, session, asked.message!.id!)).status).toBe(202)

  const { status, events } = await resume(serving.url, headers, asked.id)
  expect(status).toBe(200)
  expect(events.map(({ message }) => message)).toMatchObject([{ id: 7, result: { content: [{ text: 'Hello Ada' }] } }])
  // The question too, for a client that did not get it.
  expect((await resume(serving.url, headers, first.id)).events.map(({ id }) => id)).toEqual([asked.id, events[0]!.id])
  expect((await resume(serving.url, headers, events[0]!.id)).events).toEqual([])
})

it('a client gets no events of another session, and of none that is not its own', async () => {
  const { serving } = await world.serve({ session: { mode: 'yolo' } })
  const [one, other] = [await broken(serving), await broken(serving)]
  const get = (headers: Record<string, string>) => send(serving, { method: 'GET', headers })
  const refused = await get({ ...other.headers, 'Last-Event-ID': one.first.id })
  expect(refused).toMatchObject({ status: 400, text: expect.stringContaining('not of this session') as string })
  const foreign = await get({ ...one.headers, 'Authorization': `Bearer ${TOKENS[1]}`, 'Last-Event-ID': one.first.id })
  expect(foreign.status).toBe(404)
  await answer(serving, one.session, one.asked.message!.id!)
  await inSession(serving, one.session, { method: 'ping' })
  await send(serving, { method: 'DELETE', headers: one.headers })
  expect((await get({ ...one.headers, 'Last-Event-ID': one.first.id })).status).toBe(404)
})

it('the official client survives a connection that breaks during a call', async () => {
  const { serving } = await world.serve({ session: { mode: 'yolo' } })
  const { port } = new URL(serving.url)
  const open = new Set<Socket>()
  const proxy = createServer((socket) => {
    const onward = connectTo(Number(port), '127.0.0.1')
    open.add(socket)
    socket.pipe(onward).pipe(socket)
    socket.on('error', () => {}).on('close', () => onward.destroy())
    onward.on('error', () => {}).on('close', () => socket.destroy())
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  world.ending.push(() => proxy.close())
  let asked = 0
  const client = clientOf('legacy', async () => {
    asked += 1
    const again = once(proxy, 'connection')
    for (const socket of open) socket.destroy()
    await again
    return { action: 'accept', content: { answer: 'Ada' } }
  })
  const url = new URL(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`)
  await client.connect(
    new StreamableHTTPClientTransport(url, { requestInit: { headers: { Authorization: `Bearer ${TOKENS[0]}` } } }),
  )
  world.ending.push(() => client.close())
  expect(await client.callTool({ name: 'greet', arguments: {} })).toMatchObject({ content: [{ text: 'Hello Ada' }] })
  expect(asked).toBe(1)
})
