import { expect, it } from 'vitest'
import * as conformance from '../src/index.ts'

it('exports exactly this', () => {
  expect(Object.keys(conformance).toSorted()).toEqual([
    'LOADER_REQUIREMENTS', 'REQUIREMENTS', 'SANDBOX_REQUIREMENTS', 'badgeOf', 'conform', 'conformance',
    'createRecorder', 'junitOf', 'reportLines', 'reportOf', 'unusedPowers', 'verifyLoader', 'verifySandbox',
  ])
})
