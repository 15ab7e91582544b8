import { expect, it } from 'vitest'
import * as workers from '../src/index.ts'

it('the package exports the documented names', () => {
  expect(Object.keys(workers).toSorted()).toEqual([
    'FLEET_KINDS', 'FleetCaller', 'addToFleet', 'isPublicKey', 'newMachineKey', 'openMachineKey', 'openRemote',
    'readFleet', 'removeFromFleet', 'serveHealth', 'serveWorker',
  ])
})
