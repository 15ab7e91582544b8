import type { ServerFrame } from '@bulkhead/bridges/mcp'
import type { Hooks } from '@bulkhead/host'
import { createMemoryStore } from '@bulkhead/store'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { CapturedCalls } from '../../src/facade/capture/captured-calls.ts'
import { orderKey } from '../../src/facade/capture/capture-records.ts'
import { obeyOrders } from '../../src/facade/capture/obeyed-orders.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function open() {
  const store = createMemoryStore()
  let hooks: Hooks = {}
  let listener: (frame: ServerFrame) => void = () => undefined
  const stopped: string[] = []
  const onFault = (error: unknown) => { throw error }
  const sources = {
    store, id: 'here', onFault, servers: () => ['ship'],
    inside: {
      addHooks(added: Hooks) {
        hooks = added
        return () => void stopped.push('hooks')
      },
      redact: <Value>(value: Value) => value,
    },
    watchFrames(server: string, to: typeof listener) {
      if (server === 'none') return undefined
      listener = to
      return { first: () => [frame(1)], stop: () => void stopped.push(server) }
    },
  }
  const end = (id: string) =>
    hooks.afterToolExecution!({ sessionId: 's', callId: id, arguments: {} } as never, { type: 'output' } as never)
  const keys = async () => (await store.list('capture')).map(({ key }) => key)
  return { store, sources, end, say: (seq: number, text?: string) => listener(frame(seq, text)), keys, stopped }
}

const frame = (seq: number, text = 'x'): ServerFrame => ({ seq, at: 1, direction: 'in', text, bytes: 1, cut: false })

it('keeps the last 50 calls of a host, and the last 50 messages of a server', async () => {
  const { store, sources, end, say, keys, stopped } = open()
  const captured = new CapturedCalls(sources)
  captured.watch(new Set(['ship', 'none']))
  for (let count = 1; count <= 60; count++) {
    end(`c${count}`)
    say(count + 1)
  }
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await keys()).toHaveLength(52)
  expect(await store.read('capture', 'captured/call/s/c10')).toBeUndefined()
  expect(await store.read('capture', 'captured/call/s/c11')).toMatchObject({ arguments: '{}', cut: false })
  const frames = async () => (await store.read('capture', 'captured/frames/ship/here')) as unknown as ServerFrame[]
  expect((await frames()).map(({ seq }) => seq)).toEqual(Array.from({ length: 50 }, (_, at) => at + 12))
  for (let count = 0; count < 20; count++) say(100 + count, 'x'.repeat(16 * 1024))
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await frames()).toHaveLength(16)
  captured.watch(new Set())
  await captured.end()
  expect([await keys(), stopped]).toEqual([[], ['ship', 'hooks']])
})

it('begins with an order of another inspector, and ends without one, or with one that is not renewed', async () => {
  const { store, sources, keys } = open()
  let record: boolean | undefined
  let begun = 0
  const begin = async () => {
    begun++
    return new CapturedCalls(sources)
  }
  const config = () => (record === undefined ? {} : { record })
  const stop = obeyOrders({ store, id: 'here', config, isBusy: () => true, begin })
  const order = (id: string) => store.write('capture', orderKey(id), { at: Date.now(), servers: ['ship'] })
  await store.write('capture', 'captured/call/s/left', null)
  await vi.advanceTimersByTimeAsync(2_500)
  // What an earlier capture left is gone.
  expect([begun, await keys()]).toEqual([0, []])
  await order('here')
  record = false
  await order('there')
  await vi.advanceTimersByTimeAsync(2_500)
  expect(begun).toBe(0)
  record = undefined
  await vi.advanceTimersByTimeAsync(2_500)
  const captured = ['captured/frames/ship/here', 'captured/servers/here']
  expect([begun, await keys()]).toEqual([1, [...captured, orderKey('here'), orderKey('there')]])
  await vi.advanceTimersByTimeAsync(70_000)
  expect(await keys()).not.toContain('captured/frames/ship/here')
  await stop()
})
