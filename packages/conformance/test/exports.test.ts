import { expect, it } from 'vitest'
import * as conformance from '../src/index.ts'

it('exports exactly this', () => {
  expect(Object.keys(conformance).toSorted()).toEqual([
    'HOST_REQUIREMENTS', 'LOADER_REQUIREMENTS', 'REQUIREMENTS', 'SANDBOX_REQUIREMENTS', 'SPECIFICATIONS',
    'STORE_REQUIREMENTS', 'badgeOf', 'conform', 'conformance', 'createRecorder', 'junitOf', 'readFixtures',
    'reportLines', 'reportOf', 'sarifOf', 'unusedPowers', 'verifyHost', 'verifyLoader', 'verifySandbox', 'verifyStore',
  ])
})
