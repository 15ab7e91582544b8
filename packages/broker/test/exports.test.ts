import { expect, it } from 'vitest'
import * as broker from '../src/index.ts'

it('exports exactly these names', async () => {
  expect(Object.keys(broker).toSorted()).toEqual([
    'Broker', 'UsedSecrets', 'commandsAreConfined', 'inheritableDescriptors', 'isInheritable', 'isResourceShortage',
    'mentionsResourceShortage', 'powersOf', 'preloadCode', 'publicError', 'refuseUnenforceable',
    'resourceShortage', 'startMasked',
  ])
  expect((await import('@bulkhead/broker')).Broker).toBe(broker.Broker)
})
