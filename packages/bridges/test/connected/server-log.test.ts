import { expect, it } from 'vitest'
import { ServerLog } from '../../src/connected/server-log.ts'

it('keeps the last 32 lines, each with 2000 characters', () => {
  const log = new ServerLog((line) => line)
  for (let index = 0; index < 40; index++) log.add(`${index}`)
  expect([log.lines, log.count]).toEqual([Array.from({ length: 32 }, (_, index) => `${8 + index}`), 40])
  log.add('x'.repeat(3_000))
  expect(log.last).toBe('x'.repeat(2_000))
})
