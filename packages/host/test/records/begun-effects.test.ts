import { BulkheadError, type ToolInvocation } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { BegunEffects } from '../../src/model/begun-effects.ts'
import { flush } from '../twin/clock.ts'
import { loggedStore } from '../twin/logged-work.ts'
import { MemoryStore } from '../twin/store.ts'
import { createWorld, sketchExtension, verdictOf, type ExtensionSketch, type WorldSketch } from '../twin/world.ts'

const WRITES = { requires: { fs: { write: ['{workspace}'] } } }
const hang = () => new Promise(() => {})

/** A host with a running call of `echo`, as the broker sees it. */
async function running(
  sketch: WorldSketch = {}, extension: ExtensionSketch = { tools: { echo: { ...WRITES, execute: hang } } },
) {
  const world = createWorld({ extensions: [extension], ...sketch })
  const session = await world.host.openSession({ mode: 'yolo' })
  const outcome = session.call({ id: 'a', name: 'echo', arguments: {} })
  await flush()
  const invocation = (): ToolInvocation => world.compartment().calls.at(-1)!
  return { world, session, outcome, invocation }
}

/** What the next host says about the calls that one left open. */
async function settled(store: MemoryStore) {
  const interrupted = await createWorld({ store }).host.interruptedCalls()
  return interrupted.map(({ outcome: { error: { code, data }, error_text: text } }) => ({ code, data, text }))
}

test('a call that began nothing is interrupted, and its outcome says that it may be repeated', async () => {
  const store = new MemoryStore()
  await running({ store })
  expect(await settled(store)).toEqual([{
    code: 'CallInterrupted', data: undefined,
    text: expect.stringMatching(/begun nothing.*GET and HEAD.*safe to call again/),
  }])
})

test('a call that began something has an unknown outcome, with what began and the tool that finds out', async () => {
  const store = new MemoryStore()
  const { invocation } = await running({ store }, { tools: {
    echo: { ...WRITES, verify: 'look', execute: hang }, look: {},
  } })
  await invocation().beginEffect!('writes a.ts')
  await invocation().beginEffect!('writes b.ts')
  const [{ code, data, text }] = await settled(store) as [{ code: string; data: unknown; text: string }]
  expect({ code, data }).toEqual({
    code: 'OutcomeUnknown',
    data: {
      began: [{ what: 'writes a.ts', at: expect.stringMatching(/Z$/), attempt: 1 }], effects: 'once', verify: 'look',
    },
  })
  expect(text).toMatch(/begun: "writes a\.ts" at 20.*unknown\. Call "look" to find out/)
})

test('what an earlier attempt began counts for the whole call', async () => {
  const store = new MemoryStore()
  let tries = 0
  const go = Promise.withResolvers<void>()
  const config = { retries: { backoffBase: 0, jitterMs: 0 } }
  const { world, invocation } = await running({ store, config }, { tools: { echo: {
    ...WRITES, execute: async () => {
      if (tries++ > 0) return hang()
      await go.promise
      await invocation().beginEffect!('writes a.ts')
      throw Object.assign(new Error('busy'), { code: 'ResourceBusy' })
    },
  } } })
  go.resolve()
  await expect.poll(() => world.compartment().calls.length).toBe(2)
  expect(await settled(store)).toMatchObject([{ code: 'OutcomeUnknown', data: { began: [{ attempt: 1 }] } }])
})

test('an attempt is noted once, in the tick of its first effect', async () => {
  const log: string[] = []
  const { invocation } = await running({ store: loggedStore(log) })
  log.length = 0
  expect(invocation().beginEffect!('writes a.ts')).toBeUndefined()
  expect(log).toEqual(['begin a'])
  expect(invocation().beginEffect!('writes b.ts')).toBeUndefined()
  expect(log).toEqual(['begin a'])
})

test('what begins outside of steps is noted, whatever a step is called', () => {
  const noted: (string | undefined)[] = []
  const effects = new BegunEffects()
  effects.noteIn({ begin: (_, __, step) => void noted.push(step) })
  for (const step of ['', undefined, '', undefined]) effects.begin(1, 'writes a.ts', step)
  expect(noted).toEqual(['', undefined])
  expect(effects.hasBegun(() => true)).toBe(true)
})

test('nothing begins without its note', async () => {
  const full = new BulkheadError('StoreUnavailable', 'The disk is full.')
  let isFull = true
  const { invocation } = await running({
    store: loggedStore([], { begin: () => { if (isFull) throw full } }),
  })
  expect(() => invocation().beginEffect!('writes a.ts')).toThrow(full)
  isFull = false
  expect(invocation().beginEffect!('writes a.ts')).toBeUndefined()
})

test('a note that another machine keeps is awaited, and tried again after a failure', async () => {
  const store = new MemoryStore()
  const { invocation } = await running({ store })
  store.failing = true
  await expect(invocation().beginEffect!('writes a.ts')).rejects.toMatchObject({ code: 'StoreUnavailable' })
  store.failing = false
  await invocation().beginEffect!('writes a.ts')
  expect(await store.list('call')).toMatchObject([{ value: { begun: [{ what: 'writes a.ts' }] } }])
})

test('nothing begins after the call has ended', async () => {
  const { invocation, outcome, session } = await running()
  session.cancel()
  expect(verdictOf(await outcome)).toBe('SessionCancelled')
  expect(() => invocation().beginEffect!('writes a.ts')).toThrow(/cancelled|ended/)
})

test('a tool with effects none can begin nothing', async () => {
  const { invocation } = await running({}, { tools: { echo: {
    requires: { net: { hosts: ['example.com'] } }, effects: 'none', execute: hang,
  } } })
  expect(() => invocation().beginEffect!('POST https://example.com/x')).toThrow(/effects none.*POST https/)
})

test('nothing is noted in a store that forgets', async () => {
  const store = Object.assign(new MemoryStore(), { forgets: true })
  const { invocation } = await running({ store })
  expect(invocation().beginEffect!('writes a.ts')).toBeUndefined()
  expect(await store.list('call')).toEqual([])
})

test('what a nested call begins belongs to its callers too', async () => {
  const store = new MemoryStore()
  const { world } = await running({ store }, { tools: {
    echo: {
      requires: { ...WRITES.requires, capabilities: ['tools.call'] },
      execute: (_, { services, callId, signal }) => services.callTool!(callId, 'inner', {}, signal),
    },
    inner: { ...WRITES, execute: hang },
  } })
  await expect.poll(() => world.compartment().calls.length).toBe(2)
  await world.compartment().calls[1]!.beginEffect!('writes a.ts')
  expect(await settled(store)).toMatchObject([
    { code: 'OutcomeUnknown', data: { began: [{ what: 'writes a.ts' }] } },
    { code: 'OutcomeUnknown', data: { began: [{ what: 'writes a.ts' }] } },
  ])
})

test('the start of a tool that is registered in code is noted before its code runs', async () => {
  const log: string[] = []
  const code = (effects?: 'none') => ({
    inline: true, tools: { echo: { ...(effects && { effects }), execute: () => { log.push('runs'); return hang() } } },
  })
  await running({ store: loggedStore(log) }, code())
  expect(log).toEqual(['start a, runs code in the process of the host', 'runs'])
  const store = new MemoryStore()
  await running({ store }, code())
  expect(await settled(store)).toMatchObject([
    { code: 'OutcomeUnknown', data: { began: [{ what: 'runs code in the process of the host' }] } },
  ])
  const reading = new MemoryStore()
  await running({ store: reading }, code('none'))
  expect(await settled(reading)).toMatchObject([{ code: 'CallInterrupted' }])
})

test.each<['mcp' | 'openapi', 'none' | undefined, string]>([
  ['mcp', undefined, 'OutcomeUnknown'], ['openapi', undefined, 'OutcomeUnknown'],
  ['openapi', 'none', 'CallInterrupted'],
])('a call of a tool of a server (%s) with effects %s ends as %s', async (kind, effects, code) => {
  const store = new MemoryStore()
  const { host, sandbox } = createWorld({ store })
  // The name promises to read, and it is the server that chose it.
  const tools = { get_ship: { ...(effects && { effects }), execute: hang } }
  const { descriptor, module } = sketchExtension({ id: 'ship', inline: true, tools })
  sandbox.add('global/ship/1.0.0', module)
  await host.register([{ ...descriptor, server: { kind, name: 'ship', address: 'a', tools: new Map() } }])
  const session = await host.openSession({ mode: 'yolo' })
  void session.call({ id: 'a', name: 'get_ship', arguments: {} })
  await flush()
  const began = code === 'OutcomeUnknown' ? { data: { began: [{ what: 'calls the server "ship"' }] } } : {}
  expect(await settled(store)).toMatchObject([{ code, ...began }])
})

test('of an entry of an earlier version, which noted no effects, the outcome is unknown', async () => {
  const store = new MemoryStore()
  await store.write('call', 'gone/1', { sessionId: 's', callId: 'c', tool: 'echo', startedAt: 0 })
  expect(await settled(store)).toMatchObject([
    { code: 'OutcomeUnknown', data: { began: [] }, text: expect.stringMatching(/earlier version/) },
  ])
})

test('a token in a command line is not kept', async () => {
  const store = new MemoryStore()
  const { invocation } = await running({ store })
  await invocation().beginEffect!('runs curl -H ghp_abcdefghijklmnop')
  expect(JSON.stringify(await store.list('call'))).toContain('runs curl -H [redacted]')
})
