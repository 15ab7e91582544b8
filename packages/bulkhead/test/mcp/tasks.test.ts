import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serveTools, serveToolsOverHttp, type ServeOptions } from '@bulkhead/bridges/mcp'
import { StreamableHTTPClientTransport, type Client } from '@modelcontextprotocol/client'
import { InMemoryTransport } from '@modelcontextprotocol/server'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { clientOf, servedWorld, type Person, type ServedWorld } from './served-world.ts'
import { writeTalk } from './talk-extension.ts'

let home: string
let world: ServedWorld
beforeAll(async () => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-tasks-')))
  writeTalk(home)
  world = await servedWorld({ home })
})
afterAll(async () => {
  await world.end()
  rmSync(home, { recursive: true })
})

const served: ServeOptions = {
  info: { name: 'bulkhead', version: '1.0.0' }, openSession: (interactor) => world.host.openSession({ interactor }),
}

/** In memory as over standard input: one connection. */
async function inMemory(person?: Person, maxOpen = 128): Promise<Client> {
  const [here, there] = InMemoryTransport.createLinkedPair()
  const serving = await serveTools(world.host, { ...served, transport: here, maxOpen })
  onTestFinished(() => serving.close())
  const client = clientOf('legacy', person)
  await client.connect(there)
  return client
}

/** A request for each step. */
async function overHttp(person?: Person): Promise<Client> {
  const { url, tokens: [token], close } = await serveToolsOverHttp(world.host, served)
  onTestFinished(close)
  const client = clientOf('legacy', person)
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }),
  )
  onTestFinished(() => client.close())
  return client
}

interface Task {
  readonly taskId: string
  readonly status: string
  readonly ttl: number
}

/** The client of the SDK has no method for tasks. */
const ANY = { '~standard': { version: 1 as const, vendor: 'test', validate: (value: unknown) => ({ value }) } }
const ask = (client: Client, method: string, params: object) =>
  client.request({ method, params } as never, ANY) as Promise<unknown>
const begin = async (client: Client, name: string, task = {}) =>
  (await ask(client, 'tools/call', { name, arguments: {}, task }) as { readonly task: Task }).task
const get = (client: Client, taskId: string) => ask(client, 'tasks/get', { taskId }) as Promise<Task>

describe.each([['one connection', inMemory], ['HTTP', overHttp]] as const)('a task over %s', (_, connect) => {
  it('outlives its request, asks while its result is awaited, and keeps the result', async () => {
    const shown: unknown[] = []
    const client = await connect((params) => {
      const { _meta: meta } = params as { _meta?: unknown }
      shown.push(meta)
      return { action: 'accept', content: { answer: 'Ada' } }
    })
    expect(client.getServerCapabilities()?.tasks).toEqual({ list: {}, cancel: {}, requests: { tools: { call: {} } } })
    const { taskId, ttl } = await begin(client, 'greet', { ttl: 60_000 })
    expect(ttl).toBe(60_000)
    await expect.poll(async () => (await get(client, taskId)).status).toBe('input_required')
    const related = { 'io.modelcontextprotocol/related-task': { taskId } }
    expect(await ask(client, 'tasks/result', { taskId })).toMatchObject({
      structuredContent: { hello: 'Ada' }, _meta: related,
    })
    expect(shown).toEqual([related])
    expect((await get(client, taskId)).status).toBe('completed')
    expect(await ask(client, 'tasks/result', { taskId })).toMatchObject({ structuredContent: { hello: 'Ada' } })
    await expect(ask(client, 'tasks/cancel', { taskId })).rejects.toThrow('has ended')
  })

  it('is cancelled by name, and not with a request that awaits it', async () => {
    const client = await connect()
    const { taskId, status } = await begin(client, 'wait')
    expect(status).toBe('working')
    const gone = new AbortController()
    const awaited = client.request({ method: 'tasks/result', params: { taskId } } as never, ANY, {
      signal: gone.signal,
    })
    gone.abort()
    await expect(awaited).rejects.toThrow('abort')
    expect((await get(client, taskId)).status).toBe('working')
    expect(await ask(client, 'tasks/cancel', { taskId })).toMatchObject({ taskId, status: 'cancelled' })
    expect(await ask(client, 'tasks/result', { taskId })).toMatchObject({ isError: true })
    expect(await ask(client, 'tasks/list', {})).toMatchObject({ tasks: [{ taskId, status: 'cancelled' }] })
  })
})

it('tells a failure from a result, and knows no other tasks', async () => {
  const [client, other] = [await inMemory(), await inMemory()]
  const { taskId } = await begin(client, 'fail')
  expect(await ask(client, 'tasks/result', { taskId })).toMatchObject({ isError: true })
  expect((await get(client, taskId)).status).toBe('failed')
  await expect(get(other, taskId)).rejects.toThrow('There is no such task')
  await expect(ask(client, 'tasks/get', {})).rejects.toThrow('taskId must be a string')
})

it('forgets a task after its time, and ended ones when there are too many', async () => {
  const client = await inMemory(undefined, 2)
  const short = await begin(client, 'wait', { ttl: 1 })
  await expect.poll(() => get(client, short.taskId).then(() => 'known', String)).toContain('There is no such task')
  const ended = await begin(client, 'fail')
  await ask(client, 'tasks/result', { taskId: ended.taskId })
  const running = [await begin(client, 'wait', { ttl: 1e9 }), await begin(client, 'wait')]
  expect(running[0]!.ttl).toBe(3_600_000)
  await expect(get(client, ended.taskId)).rejects.toThrow('There is no such task')
  await expect(begin(client, 'wait')).rejects.toThrow('2 tasks are running')
  for (const { taskId } of running) await ask(client, 'tasks/cancel', { taskId })
})
