import { acceptReturn } from '@bulkhead/contract/dialects'
import type { Outcome, ToolDefinition } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { serveToolsOverHttp, type HttpServing } from '../../../src/mcp/index.ts'
import { now, resolved, Setup } from './setup.ts'

const tool = (name: string): ToolDefinition => ({
  name, label: name, description: `The tool ${name}.`, inputSchema: { type: 'object' }, requires: {}, kind: 'other',
  gated: false, mode: 'read', idempotent: true, effects: 'idempotent', executor: 'local',
})
const outcomeOf = (name: string, data: Json): Outcome =>
  ({ type: 'output', data, metadata: { call_id: 'c', tool: name, origin: null, duration_ms: 1, attempt: 1 } })

const setup = new Setup()
let serving: HttpServing
let cancelled = 0
type Execute = (args: JsonObject, runtime: object) => Promise<Json>
let tools: Readonly<Record<string, { readonly execute: unknown }>>
beforeAll(async () => {
  // Each call is a task.
  serving = await serveToolsOverHttp({ on: () => () => undefined }, {
    info: { name: 'ship', version: '1.0.0' }, taskAfterMs: 0,
    openSession: async (person) => ({
      id: 's', tools: () => ['sail', 'greet', 'lost'].map(tool), close: async () => undefined,
      async call({ id, name }, { signal }) {
        await Promise.resolve()
        if (name === 'sail') return outcomeOf(name, { sailed: true })
        if (name === 'lost') {
          const error = { code: 'ToolNotRegistered', class: 'ToolTerminal', retryable: false } as const
          return { type: 'error', error_text: 'It sank.', error, metadata: outcomeOf(name, null).metadata }
        }
        signal.addEventListener('abort', () => {
          cancelled += 1
        })
        const request = { kind: 'Ask', prompt: 'Who?' } as const
        const answer = await person
          .interact({ correlationId: '1', issuedAt: '', source: 'ship', callId: id, request }, signal)
          .catch(() => ({}))
        return outcomeOf(name, { hello: 'value' in answer ? answer.value as Json : null })
      },
    }),
  })
  const config = resolved({
    ship: { type: 'remote', url: serving.url, headers: { Authorization: { secret: 'AUTH' } } },
  })
  const servers = setup.open({ env: { AUTH: `Bearer ${serving.tokens[0]!}` } })
  servers.offer(config)
  await servers.connect(now())
  const { manifest, module } = servers.offer(config).extensions[0]!
  tools = module(manifest.tools.map(({ name }) => name)).tools
})
afterAll(async () => {
  await setup.close()
  await serving.close()
})

const call = (name: string, more: object = {}) =>
  (tools[`ship_${name}`]!.execute as Execute)({}, { signal: now(), progress: () => undefined, ...more })

it('the result of a call that a server makes a task of is that of the task', async () => {
  expect(acceptReturn(await call('sail'))).toMatchObject({ type: 'output', data: { sailed: true } })
})

it('a question of a task goes to the person of the call', async () => {
  const interact = { ask: async () => 'Ada' }
  expect(acceptReturn(await call('greet', { interact }))).toMatchObject({ type: 'output', data: { hello: 'Ada' } })
})

it('a task that failed is an error', async () => {
  await expect(call('lost')).rejects.toThrow('It sank.')
})

it('a call that is cancelled cancels its task', async () => {
  const gone = new AbortController()
  const ask = () => {
    gone.abort()
    return new Promise(() => {})
  }
  await expect(call('greet', { signal: gone.signal, interact: { ask } })).rejects.toThrow('abort')
  await expect.poll(() => cancelled).toBe(1)
})
