import { expect, it } from 'vitest'
import { isSliceSpent, nextSlice } from '../../../src/fs/search/file-pattern.ts'

const PIECE_MS = 2

function workFor(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until;);
}

it('gives all searches together one slice per turn', async () => {
  let piecesThisTurn = 0
  let most = 0
  let going = true
  const turn = (): void => {
    piecesThisTurn = 0
    if (going) setImmediate(turn)
  }
  turn()
  await Promise.all([0, 1, 2].map(async () => {
    for (let piece = 0; piece < 30; piece++) {
      if (isSliceSpent()) await nextSlice()
      workFor(PIECE_MS)
      most = Math.max(most, ++piecesThisTurn)
    }
  }))
  going = false
  // Ten milliseconds per turn, plus the last piece of work.
  expect(most).toBeLessThanOrEqual(10 / PIECE_MS + 1)
})
