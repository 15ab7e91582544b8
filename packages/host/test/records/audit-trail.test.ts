import { createHash } from 'node:crypto'
import { storyOf } from '@bulkhead/contract/audit'
import type { JsonObject } from '@bulkhead/kit/json'
import { expect, test } from 'vitest'
import { MemoryStore } from '../twin/store.ts'
import { agreeable, createWorld, type WorldSketch } from '../twin/world.ts'

async function keptOf(
  sketch: WorldSketch, act: (world: ReturnType<typeof createWorld>) => Promise<void>,
): Promise<JsonObject[]> {
  const world = createWorld(sketch)
  await act(world)
  await world.host.flush()
  return (await world.store.records()).map(({ record }) => record as JsonObject)
}

const callEcho = (args: JsonObject) => async ({ host }: ReturnType<typeof createWorld>) => {
  const session = await host.openSession(agreeable)
  await session.call({ id: 'c1', name: 'echo', arguments: args })
}
const typesOf = (records: readonly JsonObject[]) => records.map(({ type }) => type)
const ofCalls = (records: readonly JsonObject[]) =>
  records.filter(({ type, callId }) => callId === 'c1' && String(type).startsWith('ToolInvocation'))

test('a call records its decision and its end, with origin, digests and the digest of its arguments', async () => {
  const records = ofCalls(await keptOf({}, callEcho({ b: 1, a: 'x' })))
  expect(typesOf(records)).toEqual(['ToolInvocationDecided', 'ToolInvocationSucceeded'])
  expect(records[0]).toMatchObject({
    tool: 'echo', decision: 'allow', approvalKey: 'echo', at: expect.stringMatching(/^\d{4}-/),
    origin: {
      layer: 'global', extension: 'sample', version: '1.0.0', digest: expect.stringMatching(/^[0-9a-f]{128}$/),
    },
    argsSha256: createHash('sha256').update('{"a":"x","b":1}').digest('hex'),
  })
  expect(records[0]).not.toHaveProperty('args')
})

test('the audit tells who was asked, what a call began and made, and how it ended', async () => {
  const approver = { approve: async () => ({ decision: 'once', by: 'ann' } as const) }
  let begin: (() => unknown) | undefined
  const echo = {
    requires: { fs: { write: ['{workspace}'] } },
    execute: async () => {
      await begin?.()
      return 'four'
    },
  }
  const records = await keptOf({ extensions: [{ tools: { echo } }] }, async (world) => {
    begin = () => world.compartment().calls.at(-1)!.beginEffect!('writes a.txt')
    const session = await world.host.openSession({ mode: 'ask', approver, principal: { id: 'bob' } })
    await session.call({ id: 'c1', name: 'echo', arguments: {} })
  })
  const placed = records.map((record, index) => ({ record, host: '', position: index + 1, link: null }))
  const session = String(records.find(({ callId }) => callId === 'c1')!['sessionId'])
  expect(storyOf(placed, session, 'c1')).toMatchObject({
    tool: 'echo', principal: 'bob', state: 'succeeded', attempts: 1, began: ['writes a.txt'], resultChars: 6,
    answeredBy: 'ann', questions: [{ kind: 'Approve', source: 'host', status: 'accepted', by: 'ann' }],
    decision: { decision: 'allow', source: 'person' },
  })
})

test('arguments are recorded if configured, without secrets', async () => {
  const sketch: WorldSketch = {
    config: { audit: { arguments: true } },
    env: (name) => (name === 'API_KEY' ? 'correct horse battery' : undefined),
    extensions: [
      {
        secrets: [{ name: 'API_KEY', hosts: ['api.example'] }],
        tools: { echo: { requires: { net: { hosts: ['api.example'] } } } },
      },
    ],
  }
  const [decided] = ofCalls(await keptOf(sketch, callEcho({ note: 'the correct horse battery', token: 't', n: 1 })))
  expect(decided).toMatchObject({ args: { note: 'the [redacted]', token: '[redacted]', n: 1 } })
})

/** A tool that acts is not attempted again when it fails, which takes seconds. */
const ONCE = { requires: { net: { hosts: ['example.com'] } } }

test('the error message of a tool is recorded without secrets, and limited in length', async () => {
  const execute = (): never => { throw new Error(`Bearer abcdefgh12345678 ${'x'.repeat(5_000)}`) }
  const records = ofCalls(await keptOf({ extensions: [{ tools: { echo: { execute, ...ONCE } } }] }, callEcho({})))
  const { message } = records.find(({ type }) => type === 'ToolInvocationFailed')!
  expect(message).toContain('[redacted]')
  expect(String(message).length).toBeLessThanOrEqual(2_000)
})

test('a secret is not kept in part where a string is cut', async () => {
  const execute = (): never => { throw new Error(`${'x'.repeat(1_990)} correct horse battery staple`) }
  const sketch: WorldSketch = {
    env: (name) => (name === 'API_KEY' ? 'correct horse battery staple' : undefined),
    extensions: [
      {
        secrets: [{ name: 'API_KEY', commands: ['curl'] }],
        tools: { echo: { execute, requires: { shell: [{ cmd: 'curl' }] } } },
      },
    ],
  }
  const records = ofCalls(await keptOf(sketch, callEcho({})))
  expect(JSON.stringify(records)).toContain('xxxx')
  expect(JSON.stringify(records)).not.toContain('corr')
})

test('the value of a variable with the name of a secret is removed too', async () => {
  const execute = (): never => { throw new Error('refused: correct horse battery in Oslo') }
  const env = (name: string) =>
    name === 'WEATHER_TOKEN' ? 'correct horse battery' : name === 'CITY' ? 'in Oslo' : undefined
  const tools = { echo: { execute, ...ONCE } }
  const records = ofCalls(await keptOf({ env, extensions: [{ env: ['WEATHER_TOKEN', 'CITY'], tools }] }, callEcho({})))
  expect(records.find(({ type }) => type === 'ToolInvocationFailed')).toMatchObject({
    message: 'refused: [redacted] in Oslo',
  })
})

test('a denied call records who denied it', async () => {
  const sketch: WorldSketch = { config: { rules: [{ permission: 'echo', pattern: '*', action: 'deny' }] } }
  const [decided, ended] = ofCalls(await keptOf(sketch, callEcho({})))
  expect(decided).toMatchObject({ decision: 'deny', stage: 'rules', source: expect.stringContaining('echo') })
  expect(ended).toMatchObject({ type: 'ToolInvocationCancelled', errorCode: 'RuleDenied' })
})

test('sessions and lifecycles are recorded; progress is not', async () => {
  const progress: WorldSketch = {
    extensions: [{ tools: { echo: { execute: (_, { progress: say }) => say('half') } } }],
  }
  const types = new Set(typesOf(await keptOf(progress, async (world) => {
    await callEcho({})(world)
    await world.host.close()
  })))
  for (const type of ['SessionOpened', 'LifecycleStateChanged', 'SessionClosed']) expect(types).toContain(type)
  expect(types).not.toContain('ToolInvocationProgress')
})

test('a session records its workspace', async () => {
  const opened = (await keptOf({}, callEcho({}))).find(({ type }) => type === 'SessionOpened')
  expect(opened).toMatchObject({ workspace: '/work space' })
})

test('an extension that was never called has no lifecycle records', async () => {
  const two: WorldSketch = {
    extensions: [
      { id: 'used', tools: { echo: { execute: () => 1 } } }, { id: 'idle', tools: { other: { execute: () => 1 } } },
    ],
  }
  const records = await keptOf(two, async (world) => {
    await callEcho({})(world)
    await world.host.close()
  })
  const lives = records.filter(({ type }) => type === 'LifecycleStateChanged')
  expect(lives.at(-1)).toMatchObject({ extensionId: 'used', to: 'disposed' })
  expect(new Set(lives.map(({ extensionId }) => extensionId))).toEqual(new Set(['used']))
})

test('a disabled audit records nothing', async () => {
  expect(await keptOf({ config: { audit: { enabled: false } } }, callEcho({}))).toEqual([])
})

test('a store failure fails no call; flush reports it once, and the next record counts the lost records', async () => {
  const store = new MemoryStore()
  const world = createWorld({ store })
  const session = await world.host.openSession(agreeable)
  await world.host.flush()
  store.failing = true
  const outcome = await session.call({ id: 'c1', name: 'echo', arguments: {} })
  expect(outcome.type).toBe('output')
  await expect(world.host.flush()).rejects.toMatchObject({ code: 'StoreUnavailable' })
  expect(world.eventsOf('SuppressedError').filter(({ source }) => source === 'audit')).toHaveLength(1)
  const before = (await kept(store)).length
  store.failing = false
  await session.call({ id: 'c2', name: 'echo', arguments: {} })
  await world.host.flush()
  const [next, ...others] = (await kept(store)).slice(before)
  expect(next!['lostBefore']).toBeGreaterThanOrEqual(3)
  expect(others.every((record) => !('lostBefore' in record))).toBe(true)
})

async function kept(store: MemoryStore): Promise<JsonObject[]> {
  const { failing } = store
  store.failing = false
  const records = (await store.records()).map(({ record }) => record as JsonObject)
  store.failing = failing
  return records
}

test('a store that forgets is written to only if configured', async () => {
  const forgetful = () => Object.assign(new MemoryStore(), { forgets: true })
  expect(await keptOf({ store: forgetful() }, callEcho({}))).toEqual([])
  expect(await keptOf({ store: forgetful(), config: { audit: { enabled: true } } }, callEcho({}))).not.toEqual([])
})
