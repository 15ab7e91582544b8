import { hash } from 'node:crypto'
import type { LayerConfig } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { expect, test } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { MAX_SESSION_BYTES, MAX_VALUE_BYTES, Recordings } from '../../src/records/session-recording.ts'
import { openRecordings } from '../../src/index.ts'
import { ManualClock } from '../twin/clock.ts'
import { MemoryStore } from '../twin/store.ts'
import { agreeable, createWorld, type TwinRuntime } from '../twin/world.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const NUMBER = { type: 'object', properties: { n: { type: 'number' } } }
const TOOLS = {
  echo: {}, strict: { inputSchema: NUMBER },
  outer: {
    requires: { capabilities: ['tools.call'], fs: { read: ['{workspace}'] } },
    execute: (_: unknown, { callId, services }: TwinRuntime) =>
      services.callTool!(callId, 'echo', { from: 'outer' }, new AbortController().signal),
  },
  leak: { execute: () => ({ said: 'the key is hunter-2.[x]', password: 'x' }) },
  long: { execute: () => 'x'.repeat(MAX_VALUE_BYTES + 1), maxOutput: '16MB' },
}
const SECRETS = { env: ['MY_SECRET_KEY'] }

const world = (config: object, more: object = {}) => {
  const store = new MemoryStore()
  const made = createWorld({
    store, config: config as never, extensions: [{ ...SECRETS, tools: TOOLS as never }], repeatsIds: false,
    env: (name: string) => name === 'MY_SECRET_KEY' ? 'hunter-2.[x]' : undefined, ...more,
  })
  return { ...made, store, book: openRecordings(store) }
}

test('a recorded session has its calls in their order, with what was decided, and without secrets', async () => {
  const { host, book } = world({ record: true, rules: [{ permission: 'echo', pattern: '*', action: 'ask' }] })
  const session = await host.openSession({ ...agreeable, mode: 'yolo', role: 'reviewer' })
  await Promise.all([
    session.call({ id: 'a', name: 'leak', arguments: { token: 'hunter-2.[x]' } }),
    session.call({ id: 'b', name: 'outer', arguments: {} }),
  ])
  await session.call({ id: 'c', name: 'strict', arguments: { n: 'no' } })
  await session.call({ id: 'd', name: 'nothing', arguments: {} })
  await session.call({ id: 'e', name: 'long', arguments: {} })
  await session.close()
  const { recorded, ...head } = await book.read(session.id.slice(0, 8))
  expect(head).toMatchObject({
    id: session.id, workspace: '/work space', calls: 6, missing: 0, code: [],
    options: { mode: 'yolo', role: 'reviewer' },
  })
  expect(recorded.map(({ id, decision, arguments: args, outcome: { value } }) => [id, decision, args.value, value]))
    .toMatchObject([
      ['a', 'allow', { token: '[redacted]' }, {
        type: 'output', data: { said: 'the key is [redacted]', password: '[redacted]' },
      }],
      ['b', 'allow', {}, { type: 'output' }],
      ['b.1', 'ask', { from: 'outer' }, { type: 'output', data: { from: 'outer' } }],
      ['c', undefined, { n: 'no' }, { type: 'error', error: { code: 'InputInvalid' } }],
      ['d', undefined, {}, { type: 'error', error: { code: 'ToolNotRegistered' } }],
      // Too long for the record: its digest is kept.
      ['e', 'allow', {}, undefined],
    ])
  expect(recorded[2]).toMatchObject({ parentCallId: 'b', metadata: { attempt: 1 } })
  for (const { arguments: args } of recorded) expect(args.digest).toBe(hash('sha256', canonicalJson(args.value!)))
})

const layer = (name: LayerConfig['layer'], record: boolean): LayerConfig =>
  ({ layer: name, location: name, config: { record } })

test('the machine, the session, its parent and the configuration decide in this order what is recorded', async () => {
  const isRecorded = async (config: object, layers: readonly LayerConfig[], options: object) => {
    const { host, book } = world(config, layers.length > 0 ? { layers } : {})
    const session = await host.openSession({ mode: 'yolo', ...options })
    const sub = await session.openSubagent({ mode: 'yolo' })
    await sub.call({ id: 'a', name: 'echo', arguments: {} })
    await host.close()
    return (await book.list()).map(({ id, parentId }) => id === sub.id && parentId === session.id)
  }
  expect(await isRecorded({}, [], {})).toEqual([])
  expect(await isRecorded({ record: true }, [], {})).toEqual([true])
  expect(await isRecorded({ record: true }, [], { record: false })).toEqual([])
  expect(await isRecorded({}, [], { record: true })).toEqual([true])
  expect(await isRecorded({ record: true }, [layer('machine', true)], { record: false })).toEqual([true])
  expect(await isRecorded({ record: false }, [layer('machine', false)], { record: true })).toEqual([])
})

test('a store that fails costs the record and not the call, and is reported once', async () => {
  const { host, store, book, eventsOf } = world({ record: true })
  const session = await host.openSession({ mode: 'yolo' })
  store.failing = true
  for (const id of ['a', 'b']) {
    expect(await session.call({ id, name: 'echo', arguments: {} })).toMatchObject({ type: 'output' })
    await host.flush().catch(() => undefined)
  }
  store.failing = false
  await session.call({ id: 'c', name: 'echo', arguments: {} })
  await host.close()
  expect(eventsOf('SuppressedError').filter(({ source }) => source === 'recording a session')).toHaveLength(1)
  const { recorded, missing } = await book.read(session.id)
  expect([recorded.map(({ id }) => id), missing]).toEqual([['c'], 2])
})

test('a session has a bound, beyond which calls are counted', LONG, async () => {
  const store = new MemoryStore()
  const redaction = { text: (text: string) => text, repeated: (text: string) => text, value: (value: Json) => value }
  const recording = new Recordings({
    store, redaction: () => redaction, retention: { recordMs: DAY_MS, recordBytes: 2 ** 40 }, now: () => 0,
    failed: (thrown) => { throw thrown },
  }).begin({ id: 's', workspace: '/w', openedAt: '', options: {}, code: [] })
  const count = Math.ceil(MAX_SESSION_BYTES / 900_000) + 2
  for (let index = 0; index < count; index++) {
    recording.add({
      number: recording.next(), id: `c${index}`, tool: 'echo', at: '', origin: null, metadata: {} as never,
      arguments: {}, outcome: `${index}`.padEnd(900_000, 'x'),
    })
    await recording.settled()
  }
  const [head] = await openRecordings(store).list()
  expect(head!.bytes).toBeLessThan(MAX_SESSION_BYTES + MAX_VALUE_BYTES)
  expect([head!.missing > 0, head!.calls + head!.missing]).toEqual([true, count])
})

test('recorded sessions go after their time, the oldest first where there are too many, and by purge', async () => {
  const clock = new ManualClock()
  const store = new MemoryStore()
  const record = async (chars: number) => {
    const { host } = createWorld({
      store, clock, config: { record: true, store: { retention: { recordDays: 2, recordMiB: 1 } } },
    })
    const session = await host.openSession({ mode: 'yolo' })
    await session.call({ id: 'a', name: 'echo', arguments: { text: 'x'.repeat(chars) } })
    await host.close()
    return session.id
  }
  const ids = async () => (await openRecordings(store).list()).map(({ id }) => id)
  const first = await record(1)
  await clock.advance(DAY_MS)
  const second = await record(600_000)
  expect(await ids()).toEqual([second, first])
  await clock.advance(DAY_MS + 1)
  const third = await record(600_000)
  expect(await ids()).toEqual([third, second])
  await clock.advance(1)
  const fourth = await record(1)
  expect(await ids()).toEqual([fourth, third])
  expect(await openRecordings(store).purge({ ids: [third] })).toEqual([third])
  await clock.advance(1)
  await openRecordings(store).purge({ before: clock.now() })
  expect(await store.list('recording')).toEqual([])
})

test('a session that is not recorded is refused with the nearest name and what to do', async () => {
  const { host, book } = world({ record: true })
  await expect(book.read('nothing')).rejects.toMatchObject({ code: 'NotFound', message: /"record": true/ })
  const session = await host.openSession({ mode: 'yolo' })
  await session.call({ id: 'a', name: 'echo', arguments: {} })
  await host.close()
  const wrong = `x${session.id.slice(1)}`
  await expect(book.read(wrong)).rejects.toThrow(`Did you mean "${session.id}"`)
})
