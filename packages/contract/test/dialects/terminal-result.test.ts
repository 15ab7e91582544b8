import { expect, it } from 'vitest'
import { isTerminalResult } from '../../src/dialects/steerable.ts'

it.each<[Parameters<typeof isTerminalResult>[0], boolean]>([
  [null, false],
  [undefined, false],
  [{}, false],
  [{ terminal: true }, true],
  [{ terminal: false }, false],
  [{ success: true }, false],
  [{ success: true, terminal: true }, true],
  [{ success: true, needsFollowup: true }, false],
  [{ success: false }, true],
  [{ success: false, needsFollowup: false }, true],
  [{ success: false, needsFollowup: true }, false],
  [{ success: false, needsFollowup: true, terminal: true }, true],
  [{ needsFollowup: true }, false],
])('%j ends the run: %s', (result, ends) => {
  expect(isTerminalResult(result)).toBe(ends)
})
