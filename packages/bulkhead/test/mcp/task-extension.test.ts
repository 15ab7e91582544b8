import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serveTools, serveToolsOverHttp, type ServeOptions } from '@bulkhead/bridges/mcp'
import { InMemoryTransport, type JSONRPCMessage } from '@modelcontextprotocol/server'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { modern, send, TOKENS } from './http-world.ts'
import { servedWorld, type ServedWorld } from './served-world.ts'
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

const EXTENSION = 'io.modelcontextprotocol/tasks'
const TASKS = { extensions: { [EXTENSION]: {} } }
const ASKED = { ...TASKS, elicitation: {} }
const LACKS = { error: { code: -32021, data: { requiredCapabilities: TASKS } } }

interface Reply {
  readonly result?: {
    readonly resultType?: string
    readonly taskId: string
    readonly status: string
    readonly inputRequests: Record<string, { readonly params: { readonly message: string } }>
    readonly requestState: string
  }
  readonly error?: { readonly code: number }
}
/** The official client does not know the extension. */
type Ask = (method: string, params?: Record<string, unknown>, capabilities?: object, token?: string) => Promise<Reply>

const served = (options: Partial<ServeOptions>): ServeOptions => ({
  info: { name: 'bulkhead', version: '1.0.0' }, taskAfterMs: 0, ...options,
  openSession: (interactor) => world.host.openSession({ interactor }),
})

async function inMemory(options: Partial<ServeOptions> = {}): Promise<Ask> {
  const [here, there] = InMemoryTransport.createLinkedPair()
  const serving = await serveTools(world.host, { ...served(options), transport: here })
  onTestFinished(() => serving.close())
  const waiting = new Map<unknown, (reply: Reply) => void>()
  Object.assign(there, {
    onmessage: (message: JSONRPCMessage) => 'id' in message && waiting.get(message.id)?.(message as never),
  })
  await there.start()
  let id = 0
  return (method, params = {}, capabilities = ASKED) => new Promise((resolve) => {
    waiting.set(++id, resolve)
    there.send({ ...modern(method, params, capabilities).body as object, id } as never).catch(() => {})
  })
}

async function overHttp(options: Partial<ServeOptions> = {}): Promise<Ask> {
  const serving = await serveToolsOverHttp(world.host, { ...served(options), tokens: TOKENS })
  onTestFinished(() => serving.close())
  return async (method, params = {}, capabilities = ASKED, token = TOKENS[0]) => {
    const { status, text } = await send(serving, modern(method, params, capabilities, token))
    const reply = JSON.parse(text.startsWith('event:') ? /^data: (.*)$/m.exec(text)![1]! : text) as Reply
    if (reply.error?.code === -32021) expect(status).toBe(400)
    return reply
  }
}

const begin = async (ask: Ask, name: string, args = {}) => (await ask('tools/call', { name, arguments: args })).result!
const get = async (ask: Ask, taskId: string) => (await ask('tasks/get', { taskId })).result!
const becomes = async (ask: Ask, taskId: string, status: string) => {
  await expect.poll(async () => (await get(ask, taskId)).status).toBe(status)
}
const accept = (answer: string) => ({ action: 'accept', content: { answer } })

describe.each([
  ['one connection', inMemory], ['HTTP', overHttp],
] as const)('a call that lasts, over %s', (_, connect) => {
  it('becomes a task, whose question is answered by key and whose result is kept', async () => {
    const ask = await connect()
    expect((await ask('server/discover')).result).toMatchObject({ capabilities: TASKS })
    const created = await begin(ask, 'greet')
    const { taskId } = created
    expect(created).toMatchObject({ resultType: 'task', status: 'working', ttlMs: 1_800_000, pollIntervalMs: 1_000 })
    await becomes(ask, taskId, 'input_required')
    const { inputRequests } = await get(ask, taskId)
    expect(inputRequests).toMatchObject({ 'answer-1': { method: 'elicitation/create', params: { mode: 'form' } } })
    const unknown = await ask('tasks/update', { taskId, inputResponses: { 'answer-2': accept('Eve') } })
    expect(unknown.result).toMatchObject({ resultType: 'complete' })
    expect((await get(ask, taskId)).status).toBe('input_required')
    await ask('tasks/update', { taskId, inputResponses: { 'answer-1': accept('Ada') } })
    await becomes(ask, taskId, 'completed')
    const result = { resultType: 'complete', result: { structuredContent: { hello: 'Ada' } } }
    expect(await get(ask, taskId)).toMatchObject(result)
    await ask('tasks/cancel', { taskId })
    expect(await get(ask, taskId)).toMatchObject(result)
  })

  it('asks several questions at once, each answered by itself', async () => {
    const ask = await connect()
    const { taskId } = await begin(ask, 'both')
    const open = async () => Object.keys((await get(ask, taskId)).inputRequests ?? {})
    await expect.poll(open).toEqual(['answer-1'])
    await ask('tasks/update', {
      taskId, inputResponses: { 'answer-1': { action: 'accept', content: { decision: 'once' } } },
    })
    await expect.poll(open).toEqual(['answer-2', 'answer-3'])
    await ask('tasks/update', { taskId, inputResponses: { 'answer-3': accept('B') } })
    expect(await open()).toEqual(['answer-2'])
    await ask('tasks/update', { taskId, inputResponses: { 'answer-2': accept('A'), 'answer-3': accept('C') } })
    await becomes(ask, taskId, 'completed')
    expect(await get(ask, taskId)).toMatchObject({
      result: { structuredContent: { names: expect.arrayContaining(['A', 'B']) as unknown } },
    })
  })

  it('is cancelled by name, and an error of its tool is a result', async () => {
    const ask = await connect()
    const { taskId } = await begin(ask, 'wait')
    const ack = (await ask('tasks/cancel', { taskId })).result!
    expect(Object.keys(ack).filter((name) => name !== '_meta')).toEqual(['resultType'])
    expect((await get(ask, taskId)).status).toBe('cancelled')
    const failed = await begin(ask, 'fail')
    await becomes(ask, failed.taskId, 'completed')
    expect(await get(ask, failed.taskId)).toMatchObject({ result: { isError: true } })
  })

  it('needs the extension, in each request', async () => {
    const ask = await connect()
    const { taskId } = await begin(ask, 'wait')
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      expect(await ask(method, { taskId, inputResponses: {} }, {})).toMatchObject(LACKS)
    }
    const listen = { notifications: { taskIds: [taskId] } }
    expect(await ask('subscriptions/listen', listen, { extensions: {} })).toMatchObject(LACKS)
    expect((await get(ask, taskId)).status).toBe('working')
    expect(await ask('tools/call', { name: 'fail', arguments: {} }, {})).toMatchObject({
      result: { isError: true, resultType: 'complete' },
    })
    for (const method of ['tasks/list', 'tasks/result'])
      expect((await ask(method, { taskId })).error?.code).toBe(-32601)
    expect((await ask('tasks/get', { taskId: 'guessed' })).error?.code).toBe(-32602)
    expect((await ask('tasks/update', { taskId })).error?.code).toBe(-32602)
    await ask('tasks/cancel', { taskId })
  })

  it('needs approval like any call, and a client without forms fails it', async () => {
    const ask = await connect()
    const args = { path: 'out.txt', content: 'x' }
    const refused = (await ask('tools/call', { name: 'write', arguments: args }, TASKS)).result!
    await becomes(ask, refused.taskId, 'failed')
    expect(await get(ask, refused.taskId)).toMatchObject({
      error: { code: -32021, data: { requiredCapabilities: { elicitation: {} } } },
    })
    const { taskId } = await begin(ask, 'write', args)
    await becomes(ask, taskId, 'input_required')
    expect(existsSync(join(world.workspace, 'out.txt'))).toBe(false)
    const inputResponses = { 'answer-1': { action: 'accept', content: { decision: 'reject' } } }
    await ask('tasks/update', { taskId, inputResponses })
    await becomes(ask, taskId, 'completed')
    expect(await get(ask, taskId)).toMatchObject({
      result: { isError: true, _meta: { 'bulkhead/error': { code: 'ApprovalDenied' } } },
    })
    expect(existsSync(join(world.workspace, 'out.txt'))).toBe(false)
  })
})

it('a call that ends in time, or asks, is answered at once', async () => {
  const ask = await overHttp({ taskAfterMs: 600_000 })
  expect(await begin(ask, 'fail')).toMatchObject({ resultType: 'complete', isError: true })
  const { resultType, requestState } = await begin(ask, 'greet')
  expect(resultType).toBe('input_required')
  const told = await ask('tools/call', {
    name: 'greet', arguments: {}, requestState, inputResponses: { answer: accept('Ada') },
  })
  expect(told.result).toMatchObject({ resultType: 'complete', structuredContent: { hello: 'Ada' } })
})

it('a task is known to its own client only, and ends with its session', async () => {
  const ask = await overHttp()
  const { taskId } = await begin(ask, 'wait')
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    expect((await ask(method, { taskId, inputResponses: {} }, ASKED, TOKENS[1])).error?.code).toBe(-32602)
  }
  expect((await get(ask, taskId)).status).toBe('working')
})

it('a client with as many tasks as it may have waits for the result, until it has seen the end of one', async () => {
  const ask = await overHttp({ maxOpen: 2 })
  let stopped = 0
  onTestFinished(world.host.on(() => void (stopped += 1), ['ToolInvocationCancelled']))
  const tasks = [await begin(ask, 'wait'), await begin(ask, 'wait')]
  for (const { taskId } of tasks) await ask('tasks/cancel', { taskId })
  await expect.poll(() => stopped).toBe(2)
  expect(await begin(ask, 'fail')).toMatchObject({ resultType: 'complete', isError: true })
  expect((await get(ask, tasks[1]!.taskId)).status).toBe('cancelled')
  expect(await begin(ask, 'fail')).toMatchObject({ resultType: 'task' })
  expect((await ask('tasks/get', { taskId: tasks[1]!.taskId })).error?.code).toBe(-32602)
  expect((await get(ask, tasks[0]!.taskId)).status).toBe('cancelled')
})

it('a question that no one answers in time is not approved', async () => {
  const ask = await overHttp({ answerWithinMs: 1 })
  const { taskId } = await begin(ask, 'greet')
  await becomes(ask, taskId, 'completed')
  expect(await get(ask, taskId)).toMatchObject({ result: { isError: true } })
})
