import { LIFECYCLE, LIFECYCLE_STATES, type BulkheadEvent, type LifecycleSignal } from '@bulkhead/contract'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EventBus } from '../../../src/records/events.ts'
import { Lifecycle } from '../../../src/extensions/lifecycle/lifecycle.ts'
import { ManualClock } from '../../twin/clock.ts'

const SIGNALS = [
  'init', 'initialised', 'activate', 'activated', 'drain', 'drained', 'dispose', 'fail',
] as const satisfies readonly LifecycleSignal[]

test('no sequence of signals leaves the table, and each change is reported once', () => {
  fc.assert(fc.property(fc.array(fc.constantFrom(...SIGNALS), { maxLength: 40 }), (signals) => {
    const events = new EventBus(new ManualClock())
    const received: BulkheadEvent[] = []
    events.on((event) => { received.push(event) })
    const lifecycle = new Lifecycle('sample', 1, events)
    for (const signal of signals) {
      const from = lifecycle.state
      const cells: Partial<Record<LifecycleSignal, string>> = LIFECYCLE[from]
      const to = cells[signal]
      const before = received.length
      if (to === undefined) {
        expect(() => lifecycle.signal(signal)).toThrow(expect.objectContaining({ code: 'LifecyclePhaseInvalid' }))
        expect(lifecycle.state).toBe(from)
        expect(received).toHaveLength(before)
      } else {
        lifecycle.signal(signal)
        expect(lifecycle.state).toBe(to)
        expect(received.at(-1)).toMatchObject({
          type: 'LifecycleStateChanged', extensionId: 'sample', generation: 1, from, to,
        })
      }
      expect(LIFECYCLE_STATES).toContain(lifecycle.state)
    }
  }))
})
