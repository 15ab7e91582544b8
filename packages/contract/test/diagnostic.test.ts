import { expect, it } from 'vitest'
import { VALIDATION_STAGES } from '../src/model/errors.ts'

it('diagnostics have exactly these stages, in order', () => {
  expect(VALIDATION_STAGES).toEqual([
    'locate', 'trust', 'read', 'shape', 'contractVersion', 'requiredCoreVersion', 'configSchema', 'integrity',
    'signature',
    'lock', 'register',
  ])
})
