import { expect, test } from 'vitest'
import { onAbort } from '../../src/model/cancellation.ts'

test('onAbort runs once, at once when it is late, and not after it was disposed', () => {
  let runs = 0
  const count = () => { runs += 1 }
  const controller = new AbortController()
  onAbort(controller.signal, count)
  onAbort(controller.signal, count)()
  controller.abort()
  controller.abort()
  expect(runs).toBe(1)
  onAbort(controller.signal, count)
  expect(runs).toBe(2)
})
