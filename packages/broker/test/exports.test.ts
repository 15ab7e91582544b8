import { expect, it } from 'vitest'
import * as broker from '../src/index.ts'

it('exports exactly these names', async () => {
  expect(Object.keys(broker).toSorted()).toEqual([
    'Broker', 'NO_PRIVILEGES', 'READ_ONLY_PROC', 'RELAY_SOCKET', 'UsedSecrets', 'commandsAreConfined', 'coversIn',
    'foldersOf', 'holdMountPoint', 'inheritableDescriptors', 'isInheritable', 'isResourceShortage', 'loadKeyCode',
    'mentionsResourceShortage', 'mountOptions', 'mountsOf', 'openRelay', 'powersOf', 'preloadCode', 'previewDiff',
    'publicError', 'recoverUpdates', 'refuseUnenforceable', 'resourceShortage', 'sensitivePaths', 'startMasked',
    'systemMounts',
  ])
  expect((await import('@bulkhead/broker')).Broker).toBe(broker.Broker)
})
