import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { inside } from '../command-inside.ts'
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

  it('keep their session and its approvals when each replica is replaced in turn', LONG, async () => {
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

const post = (url: string, session: string, token = TOKEN) => fetch(url, {
  method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  headers: headersOf(session, token),
})
const headersOf = (session: string, token = TOKEN) => ({
  'Authorization': `Bearer ${token}`, 'Mcp-Session-Id': session, 'Content-Type': 'application/json',
  'Accept': 'application/json, text/event-stream',
})

async function addToken(name: string): Promise<string> {
  const added = await inside(['mcp', 'token', 'add', name, '--json', '--home', replicas.home], replicas.folder)
  return (JSON.parse(added.stdout) as { readonly token: string }).token
}

it('a session of the older era is found by no other token in any replica, and by no other id', async () => {
  const [a, b] = await replicas.living(2) as [McpReplica, McpReplica]
  const { transport } = await replicas.connect(a.url, 'legacy')
  const id = transport.sessionId!
  expect((await post(b.url, id)).status).toBe(200)
  expect((await post(b.url, id, `${TOKEN}-not`)).status).toBe(401)
  const token = await addToken(`other-${id}`)
  for (const { url } of [a, b]) expect((await post(url, id, token)).status).toBe(404)
  expect((await post(b.url, crypto.randomUUID())).status).toBe(404)
  await transport.terminateSession()
  expect((await post(b.url, id)).status).toBe(404)
})

const RAN = { content: [{ text: expect.stringContaining('ran') }] }
const YES = { inputResponses: { answer: { action: 'accept', content: { decision: 'once' } } } }

/** Calls the gated tool as a client of the newer era, which gets the question instead of an answer to it. */
async function connectModern(url: string) {
  const client = clientOf('modern', () => ({ action: 'cancel' }), { inputRequired: { autoFulfill: false } })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { Authorization: `Bearer ${TOKEN}` } },
  }))
  return (more: object = {}, args: object = {}) => client.request(
    { method: 'tools/call', params: { name: 'gated', arguments: { key: 'elsewhere', ...args }, ...more } as never },
    { allowInputRequired: true },
  ) as Promise<object>
}

// One replica for all of it, because a process takes more than a second of CPU time to start.
describe('after kill -9 of a replica', () => {
  let b: McpReplica
  let sessions: { readonly left: string; readonly ended: string }
  let running: ReadableStreamDefaultReader<string>
  let onB: Awaited<ReturnType<typeof connectModern>>
  let states: { readonly answered: string; readonly open: string }
  let answers: readonly PromiseSettledResult<object>[]

  beforeAll(async () => {
    const [a, other] = await replicas.living(2) as [McpReplica, McpReplica]
    b = other
    const [left, ended] = [await replicas.connect(a.url, 'legacy'), await replicas.connect(a.url, 'legacy')]
    sessions = { left: left.transport.sessionId!, ended: ended.transport.sessionId! }
    await ended.transport.terminateSession()
    const stream = await fetch(b.url, {
      method: 'POST', headers: headersOf(sessions.left),
      body: JSON.stringify({
        jsonrpc: '2.0', id: 7, method: 'tools/call',
        params: { name: 'wait', arguments: {}, _meta: { progressToken: 1 } },
      }),
    })
    running = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!text.includes('begun')) text += (await running.read()).value ?? ''

    const onA = await connectModern(a.url)
    onB = await connectModern(b.url)
    const asked = async () => (await onA() as { readonly requestState: string }).requestState
    states = { answered: await asked(), open: await asked() }
    const answer = () => Promise.allSettled([onB({ requestState: states.answered, ...YES })])
    answers = [...await answer(), ...await answer()]
    await a.kill()
  })

  it('a client learns that the replica has ended which ran its call; it is not made again', LONG, async () => {
    const readAll = async (): Promise<void> => { while (!(await running.read()).done); }
    await expect(readAll()).rejects.toThrow('terminated')
    // No replica has its session now, and another client cannot take it.
    expect((await post(b.url, sessions.left, await addToken(`later-${sessions.left}`))).status).toBe(404)
    expect((await post(b.url, sessions.left)).status).toBe(200)
  })

  it('a session that its client ended is not found', async () => {
    expect((await post(b.url, sessions.ended)).status).toBe(404)
  })

  it('an approval that it asked for was given in another while it lived, once', () => {
    expect(answers).toMatchObject([
      { status: 'fulfilled', value: RAN }, { status: 'rejected', reason: { code: -32_602 } },
    ])
  })

  it('an approval that it asked for is given in another, once and for the same call', async () => {
    const other = onB({ requestState: states.open, ...YES }, { other: true })
    await expect(other).rejects.toMatchObject({ code: -32_602 })
    expect(await onB({ requestState: states.open, ...YES })).toMatchObject(RAN)
    await expect(onB({ requestState: states.open, ...YES })).rejects.toMatchObject({ code: -32_602 })
    await expect(onB({ requestState: states.answered, ...YES })).rejects.toMatchObject({ code: -32_602 })
  })
})
