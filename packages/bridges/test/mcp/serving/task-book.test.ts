import { expect, it } from 'vitest'
import { TaskBook } from '../../../src/mcp/serving/task-book.ts'

it('cancels and forgets a task after its time', async () => {
  const book = new TaskBook(1)
  const { promise, resolve } = Promise.withResolvers<void>()
  book.add({ id: 'a', ttlMs: 1, mayLeave: false, cancel: resolve })
  expect(book.makeRoom()).toBe(false)
  await promise
  expect([book.find('a'), book.makeRoom()]).toEqual([undefined, true])
})
