import type { BulkheadEvent, EventListener } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { EventBus, requireSubscription } from '../../src/records/events.ts'
import { flush, ManualClock } from '../twin/clock.ts'

const opened = (sessionId: string) => ({ type: 'SessionOpened', sessionId, workspace: '/w' }) as const

function listening() {
  const received: BulkheadEvent[] = []
  const bus = new EventBus(new ManualClock())
  return { bus, received, listener: ((event) => received.push(event)) as EventListener }
}

test('an event is stamped by the clock, frozen, and sent in the order of subscription', () => {
  const { bus, received } = listening()
  const order: string[] = []
  bus.on((event) => { order.push('first'); received.push(event) })
  bus.on(() => { order.push('second') })
  bus.emit(opened('s'))
  expect(received).toEqual([{ type: 'SessionOpened', sessionId: 's', workspace: '/w', at: '2026-01-01T00:00:00.000Z' }])
  expect(Object.isFrozen(received[0])).toBe(true)
  expect(order).toEqual(['first', 'second'])
})

test('each stamp is the time of the clock', () => {
  const times = [
    0, 7, 999, 1_000, 1_000, 1_999, 999, Date.UTC(2026, 11, 31, 23, 59, 59, 42), Date.UTC(12_000, 0), 86_400_000.7,
  ]
  const stamps: string[] = []
  let now = 0
  const bus = new EventBus(Object.assign(new ManualClock(), { now: () => now }))
  bus.on(({ at }) => { stamps.push(at) })
  for (now of times) bus.emit(opened('s'))
  expect(stamps).toEqual(times.map((time) => new Date(time).toISOString()))
})

test('on returns a function that ends this subscription only', () => {
  const { bus, received, listener } = listening()
  const off = bus.on(listener)
  bus.on(listener)
  off()
  off()
  bus.emit(opened('s'))
  expect(received).toHaveLength(1)
})

test('a listener that throws is reported, stays subscribed, and does not affect the others', () => {
  const { bus, received, listener } = listening()
  let throws = 0
  bus.on((event) => {
    if (event.type === 'SuppressedError') return
    throws += 1
    throw new Error('broken listener')
  })
  bus.on(listener)
  bus.emit(opened('a'))
  bus.emit(opened('b'))
  expect(throws).toBe(2)
  expect(received.map(({ type }) => type)).toEqual([
    'SuppressedError', 'SessionOpened', 'SuppressedError', 'SessionOpened',
  ])
  expect(received[0]).toMatchObject({ source: 'listener of SessionOpened', message: 'broken listener' })
})

test('a listener that throws at every event, also at the report, causes no loop', () => {
  const { bus, received, listener } = listening()
  bus.on(() => { throw new Error('always') })
  bus.on(listener)
  bus.emit(opened('a'))
  expect(received.map(({ type }) => type)).toEqual(['SuppressedError', 'SessionOpened'])
})

test('an async listener that rejects is reported, and does not end the process', async () => {
  const { bus, received, listener } = listening()
  bus.on(async (event) => { if (event.type === 'SessionOpened') throw new Error('later') })
  bus.on(listener)
  bus.emit(opened('a'))
  await flush()
  expect(received.map(({ type }) => type)).toEqual(['SessionOpened', 'SuppressedError'])
})

test('a rejection is a fault, also of a custom promise', async () => {
  const { bus, received, listener } = listening()
  const rejected = { then: (_: unknown, fail: (reason: Error) => void) => fail(new Error('foreign')) }
  bus.on((event) => event.type === 'SessionOpened' ? rejected as never : undefined)
  bus.on(listener)
  bus.emit(opened('a'))
  await flush()
  expect(received).toContainEqual(expect.objectContaining({ type: 'SuppressedError', message: 'foreign' }))
})

test('a listener added during an event gets the next one', () => {
  const { bus, received, listener } = listening()
  const off = bus.on(() => { off(); bus.on(listener) })
  bus.emit(opened('a'))
  bus.emit(opened('b'))
  expect(received).toMatchObject([{ sessionId: 'b' }])
})

test('a listener gets the types it wants, and an event without listeners is not built', () => {
  const { bus, received, listener } = listening()
  let looked = 0
  const body = { type: 'SessionClosed', get sessionId() { looked++; return 's' } } as const
  const off = bus.on(listener, new Set(['SessionOpened']))
  bus.emit(body)
  expect(looked).toBe(0)
  bus.emit(opened('a'))
  bus.on(listener)
  bus.emit(body)
  off()
  bus.emit(opened('b'))
  expect(received.map(({ type }) => type)).toEqual(['SessionOpened', 'SessionClosed', 'SessionOpened'])
})

test('an invalid listener and an unknown event type are rejected', () => {
  const ask = (listener: unknown, types?: unknown) => () =>
    requireSubscription(listener as EventListener, types as undefined)
  expect(ask(() => {}, ['SessionOpened', 'ToolsChanged'])).not.toThrow()
  expect(ask(() => {})).not.toThrow()
  expect(ask('x')).toThrow('The option "listener" of on cannot be this string. Pass a function.')
  expect(ask(() => {}, 'SessionOpened')).toThrow(/option "types"/)
  expect(ask(() => {}, ['WorkspaceSwitch'])).toThrow(
    'There is no event "WorkspaceSwitch". Did you mean "WorkspaceSwitched"?',
  )
})
