import { expect, test } from 'vitest'
import * as host from '../src/index.ts'

test('what the package exports is what was decided', () => {
  expect(Object.keys(host).toSorted()).toEqual([
    'COMMAND_SAFETY_PATTERNS', 'createCommandClassifier', 'createHeadlessInteractor', 'createHost', 'createProgrammaticInteractor',
    'loadLateLibraries', 'openApprovals', 'systemClock',
  ])
})
