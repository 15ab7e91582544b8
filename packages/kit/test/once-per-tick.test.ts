import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { oncePerTick } from '../src/once-per-tick.ts'

it('is called once in a tick, again in the next one, and again at once if it throws', async () => {
  let calls = 0
  let fails = false
  const use = oncePerTick(() => {
    calls++
    if (fails) throw new Error('not now')
  })
  use()
  use()
  expect(calls).toBe(1)
  await nextTurn()
  fails = true
  expect(use).toThrow('not now')
  expect(use).toThrow('not now')
  expect(calls).toBe(3)
})
