import { expect, it } from 'vitest'
import * as broker from '../src/index.ts'

it('exports exactly these names', async () => {
  expect(Object.keys(broker).toSorted()).toEqual([
    'Broker', 'Grants', 'LaunchError', 'NO_PRIVILEGES', 'READ_ONLY_PROC', 'RELAY_INSIDE', 'RELAY_SOCKET', 'RELAY_URL',
    'SpareLauncher', 'UsedSecrets', 'besideRelay', 'commandRefusals', 'commandWalls', 'coversIn', 'encodeOrder',
    'findDenied', 'findPlaces', 'foldersOf', 'holdMountPoint', 'hullFilter', 'inheritableDescriptors', 'isInheritable',
    'isResourceShortage', 'launch', 'launcherCommand', 'launcherFilter', 'loadKeyCode', 'lookWall',
    'mentionsResourceShortage', 'mountOptions', 'mountsOf', 'notHidden', 'openPrivateFolder', 'openRelay', 'ownNetwork',
    'postOnce', 'powersOf', 'preloadCode', 'previewDiff', 'provenWall', 'proxyVariables', 'publicError',
    'recoverUpdates',
    'refuseUnenforceable', 'relayCode', 'relayMount', 'resourceShortage', 'ruleSet', 'sensitivePaths', 'serverFilter',
    'startMasked', 'systemMounts', 'tooManyHidden', 'whyUnrecorded',
  ])
  expect((await import('@bulkhead/broker')).Broker).toBe(broker.Broker)
})
