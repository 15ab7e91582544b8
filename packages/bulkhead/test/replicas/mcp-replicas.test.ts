import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { clientOf, ERAS, type Era } from '../mcp/served-world.ts'
import { McpReplicas, TOKEN, type McpReplica } from './mcp-replicas.ts'

let replicas: McpReplicas
beforeAll(() => { replicas = new McpReplicas() })
afterEach(() => replicas.disconnect())
afterAll(() => replicas.end())

const textOf = (result: unknown): string => JSON.stringify(result)

describe('clients of both eras behind a proxy that asks three replicas in turn', () => {
  it('get an answer to each of 15 requests, approvals hold in every replica, and after kill -9 of one', async () => {
    const [first] = await replicas.living(3)
    const proxy = await replicas.proxy()
    const clientOfEra = async (era: Era) => {
      let asked = 0
      const { client } = await replicas.connect(proxy, era, ({ message }) => {
        asked++
        return { action: 'accept', content: message.includes('Who?') ? { answer: 'Ada' } : { decision: 'session' } }
      })
      const use = async (number: number): Promise<string> => {
        if (number % 5 === 0) return textOf((await client.listTools()).tools.map(({ name }) => name))
        if (number % 5 === 1) return textOf(await client.callTool({ name: 'gated', arguments: {} }))
        if (number % 5 === 2) return textOf(await client.callTool({ name: 'greet', arguments: {} }))
        return textOf(await client.callTool({ name: 'count', arguments: {} }))
      }
      return { use, asked: () => asked }
    }
    const clients = [await clientOfEra(ERAS[0]), await clientOfEra(ERAS[1])]
    const expected = (number: number) => [/greet/, /ran/, /Hello Ada/, /counted/, /counted/][number % 5]!
    const useAll = async () => {
      for (const { use } of clients)
        for (let number = 0; number < 15; number++) expect(await use(number)).toMatch(expected(number))
    }
    await useAll()
    // Three greetings, and one approval for the session for each of two tools.
    expect(clients.map(({ asked }) => asked())).toEqual([5, 5])
    expect([...replicas.counts.values()].every((count) => count >= 8)).toBe(true)
    expect(replicas.counts.size).toBe(3)
    await first!.kill()
    await useAll()
    expect(clients.map(({ asked }) => asked())).toEqual([8, 8])
  })

  it('keep their session and its approvals when each replica is replaced in turn', async () => {
    const old = await replicas.living(2)
    const proxy = await replicas.proxy()
    let asked = 0
    const uses: (() => Promise<string>)[] = []
    for (const era of ERAS) {
      const { client } = await replicas.connect(proxy, era, () => {
        asked++
        return { action: 'accept', content: { decision: 'session' } }
      })
      uses.push(async () => textOf(await client.callTool({ name: 'gated', arguments: { key: 'replaced' } })))
    }
    const useAll = async () => {
      for (const use of uses) expect(await use()).toMatch(/ran/)
    }
    await useAll()
    const next = await replicas.start()
    for (const one of old) {
      await one.stop()
      await useAll()
    }
    expect(asked).toBe(ERAS.length)
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
    const [a, b] = await replicas.living(2) as [McpReplica, McpReplica]
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
    const [a, b] = await replicas.living(2) as [McpReplica, McpReplica]
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

const RAN = { content: [{ text: expect.stringContaining('ran') }] }

describe('an approval that a client of the newer era is asked for', () => {
  it('is given in another replica, also after kill -9, once and for the same call', async () => {
    const [a, b] = await replicas.living(2) as [McpReplica, McpReplica]
    const connect = async (url: string) => {
      const client = clientOf('modern', () => ({ action: 'cancel' }), { inputRequired: { autoFulfill: false } })
      await client.connect(new StreamableHTTPClientTransport(new URL(url), {
        requestInit: { headers: { Authorization: `Bearer ${TOKEN}` } },
      }))
      return (more: object = {}, args: object = {}) => client.request(
        { method: 'tools/call', params: { name: 'gated', arguments: { key: 'elsewhere', ...args }, ...more } as never },
        { allowInputRequired: true },
      ) as Promise<object>
    }
    const [onA, onB] = [await connect(a.url), await connect(b.url)]
    const yes = { inputResponses: { answer: { action: 'accept', content: { decision: 'once' } } } }
    const first = await onA() as { readonly requestState: string }
    expect(await onB({ requestState: first.requestState, ...yes })).toMatchObject(RAN)
    await expect(onB({ requestState: first.requestState, ...yes })).rejects.toMatchObject({ code: -32_602 })
    const second = await onA() as { readonly requestState: string }
    await a.kill()
    const other = onB({ requestState: second.requestState, ...yes }, { other: true })
    await expect(other).rejects.toMatchObject({ code: -32_602 })
    expect(await onB({ requestState: second.requestState, ...yes })).toMatchObject(RAN)
    await expect(onB({ requestState: second.requestState, ...yes })).rejects.toMatchObject({ code: -32_602 })
    await expect(onB({ requestState: first.requestState, ...yes })).rejects.toMatchObject({ code: -32_602 })
  })
})
