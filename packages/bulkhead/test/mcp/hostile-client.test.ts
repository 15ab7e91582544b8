import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { servedWorld, type ServedWorld } from './served-world.ts'

type Answer = {
  readonly id: unknown
  readonly result?: Record<string, unknown>
  readonly error?: { readonly code: number; readonly message: string }
}

let world: ServedWorld
let finish: ((output: string) => void)[]
/** Resolves when this many calls run. */
let running: (count: number) => Promise<void>
beforeEach(async () => {
  finish = []
  const waiting: { readonly count: number; readonly resolve: () => void }[] = []
  running = (count) => new Promise((resolve) => waiting.push({ count, resolve }))
  world = await servedWorld({
    session: { mode: 'yolo' }, serve: { maxOpen: 4 },
    runAgent: (_, signal) => new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      finish.push((output) => resolve({ output }))
      for (const { count, resolve: tell } of waiting) if (finish.length >= count) tell()
    }),
  })
  await world.transport.start()
})
afterEach(() => world.end())

/** Sends a message unchanged, and returns the next answers. */
function exchange(messages: readonly object[], count: number): Promise<readonly Answer[]> {
  const answers: Answer[] = []
  return new Promise((resolve) => {
    const onmessage = (message: JSONRPCMessage) => {
      if ('method' in message) return
      answers.push(message as Answer)
      if (answers.length === count) resolve(answers)
    }
    Object.assign(world.transport, { onmessage })
    for (const message of messages) void world.transport.send({ jsonrpc: '2.0', ...message } as JSONRPCMessage)
  })
}
const request = (id: number | string, method: string, params: object = {}) => ({ id, method, params })
const task = (id: number | string) =>
  request(id, 'tools/call', { name: 'task', arguments: { subagent_type: 'x', prompt: 'y' } })

it('a duplicate id is refused, and the first request continues', async () => {
  const started = running(1)
  const [refused] = await exchange([task('a'), task('a')], 1)
  expect(refused).toMatchObject({ id: 'a', error: { code: -32600 } })
  await started
  expect(finish).toHaveLength(1)
  const answered = exchange([], 1)
  finish[0]!('done')
  expect(await answered).toMatchObject([{ id: 'a', result: { structuredContent: { output: 'done' } } }])
  // The id can be used again.
  const [other] = await exchange([request('a', 'tools/list')], 1)
  expect(other?.result).toHaveProperty('tools')
})

it('requests over the limit are refused, and open ones continue', async () => {
  const started = running(4)
  const answers = await exchange([1, 2, 3, 4, 5, 6].map(task), 2)
  expect(answers).toMatchObject(
    [5, 6].map((id) => ({ id, error: { code: -32000, message: expect.stringMatching(/^4 requests are open/) } })),
  )
  await started
  const rest = exchange([], 4)
  for (const end of finish) end('done')
  expect((await rest).map(({ id }) => id)).toEqual([1, 2, 3, 4])
})

it('unknown cancellations and unrequested responses are ignored', async () => {
  const started = running(1)
  const tools = exchange(
    [
      task(1), { method: 'notifications/cancelled', params: { requestId: 99 } },
      { method: 'notifications/cancelled', params: { requestId: '1' } }, { method: 'notifications/cancelled' },
      { id: 7, result: { action: 'accept', content: { decision: 'once' } } },
      { id: 8, error: { code: 1, message: 'x' } },
      { method: 'notifications/progress', params: { progressToken: 1, progress: 1 } }, request(2, 'tools/list'),
    ],
    1,
  )
  expect((await tools)[0]).toMatchObject({ id: 2 })
  await started
  expect(world.eventsOf('ToolInvocationCancelled')).toEqual([])
})

it.each<[string, object]>([
  ['a missing name', {}],
  ['a number as name', { name: 5 }],
  ['an array as arguments', { name: 'read', arguments: [] }],
  ['a string as arguments', { name: 'read', arguments: '{}' }],
  ['the name __proto__', { name: '__proto__', arguments: {} }],
  ['the name constructor', { name: 'constructor', arguments: {} }],
])('a call with %s gets the error of the protocol', async (_, params) => {
  expect(await exchange([request(1, 'tools/call', params)], 1)).toMatchObject([{ id: 1, error: { code: -32602 } }])
})

it('deeply nested arguments and prototype keys are refused', async () => {
  const deep = JSON.parse(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`) as object
  const polluted = JSON.parse('{"path":"x","__proto__":{"isError":false}}') as object
  const answers = await exchange(
    [
      request(1, 'tools/call', { name: 'read', arguments: deep }),
      request(2, 'tools/call', { name: 'read', arguments: polluted }),
    ],
    2,
  )
  for (const { result } of answers) expect(result).toMatchObject({ isError: true })
  expect(({} as Record<string, unknown>)['isError']).toBeUndefined()
})

it('messages after the end are ignored', async () => {
  await world.serving.close()
  await expect(world.transport.send({ jsonrpc: '2.0', ...request(1, 'tools/list') } as JSONRPCMessage)).rejects.toThrow(
    'Not connected',
  )
  expect(world.eventsOf('SessionClosed')).toHaveLength(1)
})

const modern = (version: string) => ({
  _meta: { 'io.modelcontextprotocol/protocolVersion': version, 'io.modelcontextprotocol/clientCapabilities': {} },
})

it('an unsupported version is refused with the supported one, at any time', async () => {
  const refusal = { code: -32022, data: { supported: ['2026-07-28'], requested: '1999-01-01' } }
  for (const round of [1, 2]) {
    const answers = await exchange(
      [
        ...['tools/list', 'server/discover', 'tools/call'].map((method) =>
          request(`${round} ${method}`, method, modern('1999-01-01')),
        ),
        request(`${round} good`, 'tools/list', modern('2026-07-28')),
      ],
      4,
    )
    expect(answers.filter(({ error }) => error)).toMatchObject(Array.from({ length: 3 }, () => ({ error: refusal })))
    expect(answers.find(({ id }) => id === `${round} good`)?.result).toHaveProperty('tools')
  }
})
