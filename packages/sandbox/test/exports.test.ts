import { expect, it } from 'vitest'
import * as sandbox from '../src/index.ts'

it('exports exactly these names', () => {
  expect(Object.keys(sandbox).toSorted()).toEqual([
    'RESIDENCY', 'createSandbox', 'createServerJail', 'loadKeyCode', 'recoverUpdates',
  ])
})
