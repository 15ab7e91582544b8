import { expect, test } from 'vitest'
import * as host from '../src/index.ts'

test('what the package exports is what was decided', () => {
  expect(Object.keys(host).toSorted()).toEqual(['createHeadlessInteractor', 'createHost', 'createProgrammaticInteractor', 'openApprovals', 'systemClock'])
})
