import { expect, test } from 'vitest'
import * as embedder from '../src/embedder.ts'
import * as host from '../src/index.ts'

test('the package exports these names', () => {
  expect(Object.keys(host).toSorted()).toEqual([
    'asDelegated', 'configuredRules', 'createHost', 'deniedToServer', 'isReversible', 'lintRules',
    'loadLateLibraries', 'locatedRules', 'openApprovals', 'openQuestions', 'openRecordings',
    'passkeyRequest', 'ruleName', 'stateKey', 'systemClock',
    'undoneChanges',
  ])
  expect(Object.keys(embedder).toSorted()).toEqual([
    'COMMAND_SAFETY_PATTERNS', 'createCommandClassifier', 'createHeadlessInteractor', 'createProgrammaticInteractor',
  ])
})
