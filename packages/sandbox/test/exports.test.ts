import { expect, it } from 'vitest'
import * as sandbox from '../src/index.ts'

it('exports exactly this', () => {
  expect(Object.keys(sandbox).toSorted()).toEqual(['RESIDENCY', 'createSandbox'])
})
