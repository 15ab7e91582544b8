import { expect, it } from 'vitest'
import * as broker from '../src/index.ts'

it('exports exactly these names', async () => {
  expect(Object.keys(broker).toSorted()).toEqual([
    'Broker', 'RELAY_SOCKET', 'UsedSecrets', 'commandsAreConfined', 'foldersOf', 'hiddenPathAt', 'holdMountPoint',
    'inheritableDescriptors', 'isInheritable', 'isResourceShortage', 'mentionsResourceShortage', 'openRelay', 'powersOf',
    'preloadCode', 'previewDiff', 'publicError', 'recoverUpdates', 'refuseUnenforceable', 'resourceShortage', 'sensitivePaths',
    'startMasked',
  ])
  expect((await import('@bulkhead/broker')).Broker).toBe(broker.Broker)
})
