import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ERAS } from '../mcp/served-world.ts'
import { McpReplicas, TOKEN } from './mcp-replicas.ts'

let replicas: McpReplicas
beforeEach(() => { replicas = new McpReplicas() })
afterEach(() => replicas.end())

const textOf = (result: unknown): string => JSON.stringify(result)

describe.each(ERAS)('clients of the %s era behind a proxy that asks three replicas in turn', (era) => {
  it('get an answer to each of 15 requests, approvals hold in every replica, and after kill -9 of one', async () => {
    // The first one makes the store.
    const first = await replicas.start()
    await Promise.all([replicas.start(), replicas.start()])
    let asked = 0
    const { client } = await replicas.connect(await replicas.proxy(), era, ({ message }) => {
      asked++
      return { action: 'accept', content: message.includes('Who?') ? { answer: 'Ada' } : { decision: 'session' } }
    })
    const use = async (number: number): Promise<string> => {
      if (number % 5 === 0) return textOf((await client.listTools()).tools.map(({ name }) => name))
      if (number % 5 === 1) return textOf(await client.callTool({ name: 'gated', arguments: {} }))
      if (number % 5 === 2) return textOf(await client.callTool({ name: 'greet', arguments: {} }))
      return textOf(await client.callTool({ name: 'count', arguments: {} }))
    }
    const expected = (number: number) => [/greet/, /ran/, /Hello Ada/, /counted/, /counted/][number % 5]!
    for (let number = 0; number < 15; number++) expect(await use(number)).toMatch(expected(number))
    // Three greetings, and one approval for the session for each of two tools.
    expect(asked).toBe(5)
    expect([...replicas.counts.values()].every((count) => count >= 4)).toBe(true)
    expect(replicas.counts.size).toBe(3)
    await first.kill()
    for (let number = 0; number < 15; number++) expect(await use(number)).toMatch(expected(number))
    expect(asked).toBe(8)
  })

  it('keep their session and its approvals when each replica is replaced in turn', async () => {
    const old = [await replicas.start(), await replicas.start()]
    let asked = 0
    const { client } = await replicas.connect(await replicas.proxy(), era, () => {
      asked++
      return { action: 'accept', content: { decision: 'session' } }
    })
    const use = async () => textOf(await client.callTool({ name: 'gated', arguments: {} }))
    expect(await use()).toMatch(/ran/)
    const next = await replicas.start()
    for (const one of old) {
      await one.stop()
      expect(await use()).toMatch(/ran/)
    }
    expect(asked).toBe(1)
    expect(next.url).not.toBe(old[0]!.url)
  })
})

describe('a session of the older era', () => {
  const post = (url: string, session: string, token: string) => fetch(url, {
    method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    headers: {
      'Authorization': `Bearer ${token}`, 'Mcp-Session-Id': session, 'Content-Type': 'application/json',
      'Accept': 'application/json, text/event-stream',
    },
  })

  it('is found by no other token in any replica, and by no id that is not its own', async () => {
    const [a, b] = [await replicas.start(), await replicas.start()]
    const { transport } = await replicas.connect(a.url, 'legacy')
    const id = transport.sessionId!
    expect((await post(b.url, id, TOKEN)).status).toBe(200)
    expect((await post(b.url, id, `${TOKEN}-not`)).status).toBe(401)
    expect((await post(b.url, crypto.randomUUID(), TOKEN)).status).toBe(404)
    await transport.terminateSession()
    expect((await post(b.url, id, TOKEN)).status).toBe(404)
    await a.kill()
    expect((await post(b.url, id, TOKEN)).status).toBe(404)
  })

  it('tells a client that the replica has ended which ran its call, and does not make the call again', async () => {
    const [a, b] = [await replicas.start(), await replicas.start()]
    const { transport } = await replicas.connect(a.url, 'legacy')
    const { client } = await replicas.connect(b.url, 'legacy')
    expect((await client.callTool({ name: 'count', arguments: {} })).isError).not.toBe(true)
    const stream = await fetch(b.url, {
      method: 'POST',
      body: JSON.stringify({
        jsonrpc: '2.0', id: 7, method: 'tools/call',
        params: { name: 'wait', arguments: {}, _meta: { progressToken: 1 } },
      }),
      headers: {
        'Authorization': `Bearer ${TOKEN}`, 'Mcp-Session-Id': transport.sessionId!, 'Content-Type': 'application/json',
        'Accept': 'application/json, text/event-stream',
      },
    })
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!text.includes('begun')) text += (await reader.read()).value ?? ''
    await a.kill()
    const readAll = async (): Promise<void> => { while (!(await reader.read()).done); }
    await expect(readAll()).rejects.toThrow('terminated')
    expect((await post(b.url, transport.sessionId!, TOKEN)).status).toBe(200)
  })
})
